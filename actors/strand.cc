#include "actors/strand.h"

#include <deque>
#include <mutex>
#include <tuple>
#include <utility>

namespace troupe::detail {

struct Strand::State {
  struct Item {
    std::function<void()> job;
    std::function<void(const Error&)> refused;
  };

  std::shared_ptr<Executor> executor;
  std::string label;
  std::mutex mutex;
  std::deque<Item> items;  // guarded by mutex
  bool running = false;    // guarded by mutex: a job on the pool takes the items

  /// Nothing, and `running` ends, if there is none.
  std::optional<Item> next() {
    std::lock_guard lock(mutex);
    if (items.empty()) {
      running = false;
      return std::nullopt;
    }
    Item item = std::move(items.front());
    items.pop_front();
    return item;
  }
};

Strand::Strand(std::shared_ptr<Executor> executor, std::string label) : state_(std::make_shared<State>()) {
  state_->executor = std::move(executor);
  state_->label = std::move(label);
}

void Strand::run(std::function<void()> job, std::function<void(const Error&)> refused) {
  {
    std::lock_guard lock(state_->mutex);
    state_->items.push_back({std::move(job), std::move(refused)});
    if (std::exchange(state_->running, true)) return;
  }
  go_on(state_);
}

void Strand::go_on(const std::shared_ptr<State>& state) {
  const auto refuse = [state](const Error& error) {
    while (auto item = state->next()) item->refused(error);
  };
  const auto run = [state] {
    while (auto item = state->next()) item->job();
  };
  std::ignore = state->executor->submit({.label = state->label, .run = run, .refused = refuse});
}

}  // namespace troupe::detail
