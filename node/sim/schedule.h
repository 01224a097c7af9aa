// The next step of a simulated world, and its time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "messages/ids.h"
#include "node/sim/choices.h"
#include "node/sim/trace.h"

namespace troupe::sim {

/// One node's actors, or its functions: items that can continue without any time passing.
class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual const NodeName& node() const = 0;

  /// Returns how many can continue now.
  [[nodiscard]] virtual std::size_t ready() = 0;

  /// Describes item `index`, for the trace. Valid until the next call.
  [[nodiscard]] virtual std::string_view describe(std::size_t index) = 0;

  /// Continues item `index`.
  virtual void run(std::size_t index) = 0;

  /// Returns when time alone makes an item ready; nullopt: never.
  [[nodiscard]] virtual std::optional<TimePoint> next_due() = 0;

  /// Returns true if there is no item at all: then none gets ready before Schedule::has_items is called.
  [[nodiscard]] virtual bool empty() = 0;
};

/// Virtual time, events by due time, and the choice among all items that can continue.
///
/// A step is one message of an actor, one stretch of a function from wait to wait, or one due event. Events occur in
/// the order of their due times, those of equal due time in an order drawn at their creation. Time passes when nothing
/// can continue, and a little with each step, so that due events overtake slow items.
///
/// Exactly one thread runs at any time: the holder of the baton. A request of any other thread ends the process: it
/// would make the run depend on real time.
class Schedule {
 public:
  Schedule(std::uint64_t seed, Duration step_max);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] Duration elapsed() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] Choices& choices() { return choices_; }
  [[nodiscard]] const Trace& trace() const { return trace_; }

  /// Adds a line to the trace that is no decision.
  void remark(std::string_view node, std::string_view text) { trace_.remark(elapsed(), node, text); }

  /// Schedules `action` at `due` for `node`. Returns its number, for `cancel`.
  std::uint64_t at(TimePoint due, const NodeName& node, std::string what, std::function<void()> action);
  void cancel(std::uint64_t event);

  /// Drops all events of `node`.
  void drop_events(const NodeName& node);

  /// Suspends `node` until `thaw`: no event of it occurs before; then overdue ones do, in their order. Its process is
  /// stopped.
  void freeze(const NodeName& node);
  void thaw(const NodeName& node);

  /// Includes `source` in the choice until `remove`.
  void add(Source& source);
  void remove(Source& source);

  /// The source has got an item. No effect if it is not included.
  void has_items(Source& source);

  /// Does one step, not later than `limit`. Returns false if there was none; the time is then `limit`, or as it was if
  /// that is the largest one: no limit.
  bool step(TimePoint limit);

  /// Makes the calling thread the holder of the baton.
  void take_baton() { holder_ = std::this_thread::get_id(); }

  /// Any thread may ask.
  [[nodiscard]] bool has_baton() const { return holder_.load() == std::this_thread::get_id(); }

  /// Ends the process, naming the request `what`, unless the calling thread holds the baton.
  void require_baton(std::string_view what) const;

  /// Ends the world: no event occurs any more, and requests of any thread are allowed. Events may own this schedule, so
  /// its maker calls end.
  void end();
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  struct Key {
    TimePoint due;
    std::uint64_t tie = 0;
    std::uint64_t number = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Event {
    NodeName node;
    std::string what;
    std::function<void()> action;
  };

  [[nodiscard]] bool is_frozen(const NodeName& node) const { return frozen_.contains(node); }
  std::size_t count_ready();
  [[nodiscard]] std::optional<TimePoint> next_due();
  void run_choice(std::uint64_t choice, std::uint64_t choices);

  const std::uint64_t seed_;
  Choices choices_;
  const Duration step_max_;
  Trace trace_;
  TimePoint now_;
  std::uint64_t steps_ = 0;
  std::map<Key, Event> events_;                      // of nodes that are not frozen
  std::map<NodeName, std::map<Key, Event>> frozen_;  // of the others
  std::unordered_map<std::uint64_t, Key> keys_;      // of every event, by number
  std::uint64_t last_event_ = 0;
  std::unordered_map<const Source*, std::uint64_t> sources_;  // their numbers; never walked: addresses have no order
  std::uint64_t last_source_ = 0;
  std::map<std::uint64_t, Source*> with_items_;                       // all but some that are empty
  std::vector<std::pair<Source*, std::size_t>> ready_;                // numbers of ready items, in the present step
  std::atomic<std::thread::id> holder_ = std::this_thread::get_id();  // written by the thread that takes the baton
  std::atomic<bool> ended_ = false;                                   // any thread asks
};

}  // namespace troupe::sim
