#include "actors/data/prefetch.h"

#include <atomic>
#include <exception>
#include <list>
#include <utility>

#include "actors/core/strand.h"
#include "actors/core/wait_point.h"
#include "actors/future.h"

namespace troupe::detail {
namespace {

/// A value, or the exception of its maker; neither if it was dropped.
struct Made {
  std::shared_ptr<void> value;
  std::exception_ptr exception;
  std::atomic<bool> is_dropped = false;
};

void make_into(Made& made, const Prefetch::Make& make, const Tensor& indices) {
  try {
    made.value = make(indices);
  } catch (...) {
    made.exception = std::current_exception();
  }
}

}  // namespace

struct Prefetch::State {
  struct Asked {
    std::shared_ptr<Made> made;  // written by the pool until `done`
    Future<void> done;
  };

  State(const Scope& scope, Make m)
      : home(future_home_of(scope)),
        strand(home.executor, "prefetch", PerTurn::one),
        make(std::make_shared<Make>(std::move(m))) {}

  FutureHome home;
  Strand strand;
  std::shared_ptr<const Make> make;
  std::list<Asked> asked;  // the oldest first
};

Prefetch::Prefetch(const Scope& scope, Make make) : state_(std::make_unique<State>(scope, std::move(make))) {}
Prefetch::~Prefetch() { drop(); }

/// The job holds what the user made, and `make` itself, during the call only: its end, after the promise is kept, is
/// awaited by nobody.
void Prefetch::ask(Tensor indices) {
  const Promise<void> promise(state_->home);
  const auto made = std::make_shared<Made>();
  std::list<State::Asked> asked{{made, promise.future()}};
  state_->strand.run(
      [promise, make = std::weak_ptr(state_->make), made = std::weak_ptr(made), indices = std::move(indices)] {
        if (const auto into = made.lock(); into && !into->is_dropped) make_into(*into, *make.lock(), indices);
        promise.complete(Unit{});
      },
      [promise](const Error& why) { promise.complete(why); });
  state_->asked.splice(state_->asked.end(), asked);
}

std::size_t Prefetch::asked() const { return state_->asked.size(); }

void Prefetch::wait() const { state_->asked.front().done.state().wait(); }

std::shared_ptr<void> Prefetch::next() {
  wait();  // if it throws, the pool may still write what it makes
  const State::Asked first = std::move(state_->asked.front());
  state_->asked.pop_front();
  first.done.get();
  if (first.made->exception) std::rethrow_exception(first.made->exception);
  return first.made->value;
}

void Prefetch::drop() noexcept {
  const BlockingHook::NoThrow until_nothing_runs;
  for (const auto& asked : state_->asked) asked.made->is_dropped = true;
  for (const auto& asked : state_->asked) asked.done.state().wait();
  state_->asked.clear();
}

}  // namespace troupe::detail
