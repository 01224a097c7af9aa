#include "actors/calls/stream_source.h"

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/core/wait_point.h"

namespace troupe::detail {
namespace {

void wait_for(TaskTurn& turn) {
  const auto granted = std::make_shared<WaitPoint>();
  turn.take_anew([granted] { granted->signal(); });
  static_cast<void>(granted->wait(std::nullopt));
}

}  // namespace

void take_turn_for(TaskTurn& turn, const std::function<void()>& part) {
  wait_for(turn);
  turn.run(part);
}

void end_turn_with(TaskTurn& turn, const std::function<void()>& part) {
  std::exception_ptr thrown;
  try {
    turn.run(part);
  } catch (...) {
    thrown = std::current_exception();
  }
  turn.give_up();
  if (thrown) std::rethrow_exception(thrown);
}

void end_in_turn(std::shared_ptr<TaskTurn> turn, std::shared_ptr<void> function) noexcept {
  struct Last {
    std::shared_ptr<TaskTurn> turn;
    std::shared_ptr<void> function;  // its end is the first of the two
  };
  try {
    const auto last = std::make_shared<Last>(std::move(turn), std::move(function));
    last->turn->take_anew(
        [last] { last->turn->run_on_pool([last] { last->turn->run([&] { last->function.reset(); }); }); });
  } catch (const std::bad_alloc&) {  // the end of a value must not fail
  }
}

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
