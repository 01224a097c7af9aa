#include "actors/core/strand.h"

#include <deque>
#include <mutex>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>

#include "actors/core/guarded.h"

namespace troupe::detail {
namespace {

/// Runs an item and continues, whatever it throws. REQUIRES: its `refused` does not throw.
template <class Item>
void run_one(const Item& item, std::string_view label) noexcept {
  try {
    item.job();
  } catch (...) {
    item.refused(failure_of_current_exception(label));
  }
}

}  // namespace

struct Strand::State {
  struct Item {
    std::function<void()> job;
    std::function<void(const Error&)> refused;
  };

  std::shared_ptr<Executor> executor;
  std::string label;
  PerTurn per_turn = PerTurn::all;
  std::mutex mutex;
  std::deque<Item> items;  // guarded by mutex
  bool running = false;    // guarded by mutex: a job on the pool takes the items

  /// Returns the next item; if there is none, clears `running` and returns nullopt.
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

  /// Returns whether there are items; if there are none, clears `running`.
  bool has_more() {
    std::lock_guard lock(mutex);
    return running = !items.empty();
  }

  /// Destroys the queued items.
  void drop_all() noexcept {
    std::deque<Item> dropped;  // destroyed after the lock is released
    std::lock_guard lock(mutex);
    dropped.swap(items);
    running = false;
  }
};

/// A job on the pool that takes the items of a strand.
class Strand::Turn {
 public:
  explicit Turn(std::shared_ptr<State> state) : state_(std::move(state)) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// If the pool ends without having run or refused the job, empties the strand: an item may hold the strand's owner.
  ~Turn() {
    if (!is_over_) state_->drop_all();
  }

  /// Runs the items until the queue is empty, or one of them.
  void run() {
    if (state_->per_turn == PerTurn::all) return take_all([this](const auto& item) { run_one(item, state_->label); });
    is_over_ = true;
    if (run_next() && state_->has_more()) go_on(state_);
  }

  /// Calls `take` with each item until the queue is empty.
  template <class Take>
  void take_all(Take take) {
    while (const auto item = state_->next()) take(*item);
    is_over_ = true;
  }

 private:
  bool run_next() {
    const auto item = state_->next();
    if (item) run_one(*item, state_->label);
    return item.has_value();
  }

  const std::shared_ptr<State> state_;
  bool is_over_ = false;  // set by the thread that runs or refuses the job
};

Strand::Strand(std::shared_ptr<Executor> executor, std::string label, PerTurn per_turn)
    : state_(std::make_shared<State>()) {
  state_->executor = std::move(executor);
  state_->label = std::move(label);
  state_->per_turn = per_turn;
}

void Strand::run(std::function<void()> job, std::function<void(const Error&)> refused) {
  State::Item item{std::move(job), std::move(refused)};  // outlives the lock: without memory it ends here
  {
    std::lock_guard lock(state_->mutex);
    state_->items.push_back(std::move(item));
    if (std::exchange(state_->running, true)) return;
  }
  go_on(state_);
}

void Strand::go_on(const std::shared_ptr<State>& state) {
  std::shared_ptr<Turn> turn;
  try {
    turn = std::make_shared<Turn>(state);
    const auto run = [turn] { turn->run(); };
    const auto refuse = [turn](const Error& error) {
      turn->take_all([&](const State::Item& item) { item.refused(error); });
    };
    std::ignore = state->executor->submit({.label = state->label, .run = run, .refused = refuse});
  } catch (const std::bad_alloc&) {
    const Error error = failure_of_current_exception(state->label);
    const auto refuse = [&](const State::Item& item) { item.refused(error); };
    turn ? turn->take_all(refuse) : Turn(state).take_all(refuse);
  }
}

}  // namespace troupe::detail
