// Bounds how many calls to one node are repetitions, so that retries do not overload a node in trouble.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "messages/ids.h"

namespace troupe::detail {

/// Every first attempt earns its node a share of a repetition; every repetition costs one. Some are free at the start.
/// Thread rule: any thread may call any member.
class RetryBudgets {
 public:
  /// The most repetitions saved up for a node, unless one call earns more, and the number it starts with.
  static constexpr double kRepeatsMax = 10;

  /// The most nodes remembered. Beyond it the node that has saved up most begins anew.
  static constexpr std::size_t kNodesMax = 1024;

  /// Counts a first attempt to call `node`; `share` of calls may be repetitions.
  void earn(const NodeName& node, double share);

  /// Returns true, and uses up one repetition, if a call to `node` may be repeated now.
  [[nodiscard]] bool spend(const NodeName& node);

 private:
  void set(const NodeName& node, double repeats);

  std::mutex mutex_;
  std::map<NodeName, double> repeats_;  // guarded by mutex_; without nodes that have kRepeatsMax
};

}  // namespace troupe::detail
