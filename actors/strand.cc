#include "actors/strand.h"

#include <deque>
#include <mutex>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>

#include "actors/core/guarded.h"

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

namespace {

/// The strand goes on, whatever the job throws; its `refused` must not.
template <class Item>
void run_one(const Item& item, std::string_view label) noexcept {
  try {
    item.job();
  } catch (...) {
    item.refused(failure_of_current_exception(label));
  }
}

}  // namespace

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
    while (auto item = state->next()) run_one(*item, state->label);
  };
  try {
    std::ignore = state->executor->submit({.label = state->label, .run = run, .refused = refuse});
  } catch (const std::bad_alloc&) {
    refuse(failure_of_current_exception(state->label));
  }
}

}  // namespace troupe::detail
