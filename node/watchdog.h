// Ends a process whose node is stuck: that is better than a live node that answers no one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "actors/clock.h"
#include "actors/core/node_core.h"

namespace troupe::detail {

/// Measures how long something has been outstanding while this process ran. Time in which the process did not run
/// (stopped, in a debugger, or suspended with its machine) does not count. Thread rule: one thread.
class OutstandingTime {
 public:
  /// `step`: the interval at which `at` is called while the process runs; a longer gap counts as 2 steps.
  explicit OutstandingTime(Duration step) : step_(step) {}

  /// Reports at `now` whether the thing is outstanding. Returns for how long.
  [[nodiscard]] Duration at(TimePoint now, bool outstanding);

 private:
  const Duration step_;
  std::optional<TimePoint> last_;
  Duration sum_{};
};

/// Sends the node's router a probe through the node's clock. Calls `stuck` on its own thread if no answer comes for
/// `limit` of the process's running time, or the probe cannot even be sent. A router without work answers at once.
/// Active from its constructor to its destructor or the node's end.
class Watchdog {
 public:
  using Stuck = std::function<void(const std::string& why)>;

  /// Throws std::system_error if no thread can be started.
  Watchdog(const std::shared_ptr<NodeCore>& node, Duration limit, Stuck stuck);

 private:
  void run(const std::stop_token& stop);

  const std::weak_ptr<NodeCore> node_;
  const Duration limit_;
  const Stuck stuck_;
  std::jthread thread_;  // last: it uses all of the above
};

/// Logs `why` and ends the process by an abort, so that a debugger or a core file shows what is stuck.
[[noreturn]] void end_stuck_process(const std::string& why);

}  // namespace troupe::detail
