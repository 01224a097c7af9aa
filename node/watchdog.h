// Ends a process whose node is stuck: that is better than one that is up and answers nobody.
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

/// For how long something has been outstanding while this process ran. Time in which it did not run, because it was
/// stopped, in a debugger or asleep with its machine, does not count. One thread.
class OutstandingTime {
 public:
  /// `step`: how often `at` is called while the process runs; of a longer gap, 2 steps count.
  explicit OutstandingTime(Duration step) : step_(step) {}

  /// It is `now`, and the thing is outstanding still, or again.
  [[nodiscard]] Duration at(TimePoint now, bool outstanding);

 private:
  const Duration step_;
  std::optional<TimePoint> last_;
  Duration sum_{};
};

/// Asks the node's router for a sign of life, through the node's clock, and calls `stuck` on its own thread if none comes
/// for `limit` of the process's running time, or the question is not even put. A router without work answers at once.
/// From its constructor to its destructor; it ends with the node, too.
class Watchdog {
 public:
  using Stuck = std::function<void(const std::string& why)>;

  /// Throws std::system_error if there is no thread for it.
  Watchdog(const std::shared_ptr<NodeCore>& node, Duration limit, Stuck stuck);

 private:
  void run(const std::stop_token& stop);

  const std::weak_ptr<NodeCore> node_;
  const Duration limit_;
  const Stuck stuck_;
  std::jthread thread_;  // last: it uses all of the above
};

/// Says `why` in the log and ends the process as an assertion does, so that a debugger or a core file shows what is stuck.
[[noreturn]] void end_stuck_process(const std::string& why);

}  // namespace troupe::detail
