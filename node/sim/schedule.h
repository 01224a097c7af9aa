// What happens next in a simulated world, and at what time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "actors/clock.h"
#include "messages/ids.h"
#include "node/sim/choices.h"
#include "node/sim/trace.h"

namespace troupe::sim {

/// One node's actors, or its functions: things that can go on without any time passing.
class Source {
 public:
  virtual ~Source() = default;

  [[nodiscard]] virtual const NodeName& node() const = 0;

  /// How many could go on now.
  [[nodiscard]] virtual std::size_t ready() = 0;

  /// What number `index` of them is, for the trace. Valid until the next call.
  [[nodiscard]] virtual std::string_view describe(std::size_t index) = 0;

  /// Lets number `index` go on.
  virtual void run(std::size_t index) = 0;

  /// When the passing of time alone makes one ready; nothing: never.
  [[nodiscard]] virtual std::optional<TimePoint> next_due() = 0;
};

/// Virtual time, what is due when, and the choice among all that can go on.
///
/// A step is one message of an actor, one stretch of a function from wait to wait, or one event that is due. Events
/// come in the order of their due times, those due together in an order drawn when they were made. Time passes when
/// nothing can go on, and a little with each step, so that what is due overtakes what is slow.
///
/// Exactly one thread runs at any time, the one that holds the baton. What others ask for ends the process: they would
/// make the run depend on real time.
class Schedule {
 public:
  Schedule(std::uint64_t seed, Duration step_max);
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  [[nodiscard]] TimePoint now() const { return now_; }
  [[nodiscard]] Duration elapsed() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] Choices& choices() { return choices_; }
  [[nodiscard]] const Trace& trace() const { return trace_; }

  /// A line in the trace that is no decision.
  void remark(std::string_view node, std::string_view text) { trace_.remark(elapsed(), node, text); }

  /// Does `action` at `due` on behalf of `node`; returns its number, for `cancel`.
  std::uint64_t at(TimePoint due, const NodeName& node, std::string what, std::function<void()> action);
  void cancel(std::uint64_t event);

  /// Forgets everything that was to be done on behalf of `node`.
  void drop_events(const NodeName& node);

  /// Nothing is done on behalf of `node` until `thaw`, which makes up for what was due: its process stood still.
  void freeze(const NodeName& node);
  void thaw(const NodeName& node);

  /// `source` takes part until `remove`.
  void add(Source& source) { sources_.push_back(&source); }
  void remove(Source& source) { std::erase(sources_, &source); }

  /// One step, not later than `limit`. Returns false if there was none to do; then it is `limit`.
  bool step(TimePoint limit);

  /// The calling thread runs from now on.
  void take_baton() { holder_ = std::this_thread::get_id(); }

  /// Ends the process, saying `what` was asked, if the calling thread does not hold the baton.
  void require_baton(std::string_view what) const;

  /// The world is over: nothing happens any more, and any thread may ask for it. Events may own this schedule, so
  /// whoever made it ends it.
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

  Choices choices_;
  const Duration step_max_;
  Trace trace_;
  TimePoint now_;
  std::uint64_t steps_ = 0;
  std::map<Key, Event> events_;                      // of nodes that are not frozen
  std::map<NodeName, std::map<Key, Event>> frozen_;  // of the others
  std::unordered_map<std::uint64_t, Key> keys_;      // of every event, by number
  std::uint64_t last_event_ = 0;
  std::vector<Source*> sources_;
  std::vector<std::size_t> ready_;  // of each source, at the step under way
  std::thread::id holder_ = std::this_thread::get_id();
  bool ended_ = false;
};

}  // namespace troupe::sim
