#include "actors/calls/stream_source.h"

#include <stdexcept>

namespace troupe::detail {

bool StreamClaim::send() {
  State free = State::free;
  return state_.compare_exchange_strong(free, State::sent);
}

void StreamClaim::begin_reading() {
  State state = State::free;
  if (state_.compare_exchange_strong(state, State::read_here)) return;
  throw std::logic_error(state == State::sent ? "[Stream] it was sent: only its receiver reads it"
                                              : "[Stream] it is being read by another thread");
}

}  // namespace troupe::detail
