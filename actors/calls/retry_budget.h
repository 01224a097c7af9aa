// Bounds how many calls to one node are repeats, so that a node in trouble is not buried under them.
#pragma once

#include <map>
#include <mutex>

#include "messages/ids.h"

namespace troupe::detail {

/// Every first attempt at a node earns a share of a repeat, every repeat costs one; some are there to begin with.
/// Thread rule: any thread may call any member.
class RetryBudgets {
 public:
  /// Repeats at hand for a node that was not called before, and at most.
  static constexpr double kRepeatsMax = 10;

  /// A call to `node` is made for the first time; `share` of calls may be repeats.
  void earn(const NodeName& node, double share);

  /// Whether a call to `node` may be repeated now; takes one repeat if so.
  [[nodiscard]] bool spend(const NodeName& node);

 private:
  std::mutex mutex_;
  std::map<NodeName, double> repeats_;  // guarded by mutex_
};

}  // namespace troupe::detail
