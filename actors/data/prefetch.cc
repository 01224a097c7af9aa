#include "actors/data/prefetch.h"

#include <atomic>
#include <deque>
#include <exception>
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
};

}  // namespace

struct Prefetch::State {
  State(const Scope& scope, Make m)
      : home(future_home_of(scope)), strand(home.executor, "prefetch"), make(std::make_shared<Make>(std::move(m))) {}

  FutureHome home;
  Strand strand;
  std::shared_ptr<const Make> make;
  std::shared_ptr<std::atomic<bool>> dropped = std::make_shared<std::atomic<bool>>(false);  // of what was asked for
  std::deque<Future<std::shared_ptr<Made>>> values;                                         // the oldest first
};

Prefetch::Prefetch(const Scope& scope, Make make) : state_(std::make_unique<State>(scope, std::move(make))) {}
Prefetch::~Prefetch() {
  const BlockingHook::NoThrow in_destructor;
  drop();
}

void Prefetch::ask(Tensor indices) {
  const Promise<std::shared_ptr<Made>> promise(state_->home);
  state_->values.push_back(promise.future());
  state_->strand.run(
      [promise, make = state_->make, dropped = state_->dropped, indices = std::move(indices)] {
        const auto made = std::make_shared<Made>();
        try {
          if (!*dropped) made->value = (*make)(indices);
        } catch (...) {
          made->exception = std::current_exception();
        }
        promise.complete(made);
      },
      [promise](const Error& why) { promise.complete(why); });
}

std::size_t Prefetch::asked() const { return state_->values.size(); }

std::shared_ptr<void> Prefetch::next() {
  const Future<std::shared_ptr<Made>> first = std::move(state_->values.front());
  state_->values.pop_front();
  const std::shared_ptr<Made> made = first.get();
  if (made->exception) std::rethrow_exception(made->exception);
  return made->value;
}

void Prefetch::drop() {
  *state_->dropped = true;
  for (const auto& value : state_->values) value.state().wait();
  state_->values.clear();
  state_->dropped = std::make_shared<std::atomic<bool>>(false);
}

}  // namespace troupe::detail
