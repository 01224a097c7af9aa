#include "actors/calls/stream_source.h"

#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "actors/calls/outgoing_call.h"
#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/scope.h"

namespace troupe::detail {
namespace {

Error too_late(const NodeCore& node) {
  Error error = node.error(ErrorCode::timeout, node.name(), "next of a stream",
                           "others had the turn on the value on which its function runs");
  error.hint = kHintOfTurn;
  return error;
}

}  // namespace

void run_without_turns(const std::function<void()>& part) {
  BlockingHook* hook = BlockingHook::current();
  hook != nullptr ? hook->run_as_wait(part) : part();
}

void take_turn_for(TaskTurn& turn, const Scope* reader, const std::function<void()>& part) {
  const auto granted = std::make_shared<WaitPoint>();
  turn.take_anew([granted] { granted->signal(); });
  if (!granted->wait(reader != nullptr ? due_of(reader->state()) : std::nullopt)) {
    turn.give_up();
    throw RemoteError(too_late(*reader->state().node));
  }
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
    // Made now: the turn may be granted in a destructor, where nothing may fail.
    std::function<void()> job = [last] { last->turn->run([&] { last->function.reset(); }); };
    last->turn->take_anew([last, job = std::move(job)]() mutable { last->turn->run_on_pool(std::move(job)); });
  } catch (const std::bad_alloc&) {  // the end of a value must not fail
    function.reset();                // unless it was moved: before the turn, which keeps the value
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
