#include "actors/calls/retry_budget.h"

#include <algorithm>
#include <utility>

namespace troupe::detail {

void RetryBudgets::earn(const NodeName& node, double share) {
  std::lock_guard lock(mutex_);
  const auto known = repeats_.find(node);
  const double repeats = known == repeats_.end() ? kRepeatsMax : known->second;
  set(node, std::min(repeats + share, std::max(kRepeatsMax, share)));
}

bool RetryBudgets::spend(const NodeName& node) {
  std::lock_guard lock(mutex_);
  const auto known = repeats_.find(node);
  const double repeats = known == repeats_.end() ? kRepeatsMax : known->second;
  if (repeats < 1) return false;
  set(node, repeats - 1);
  return true;
}

/// REQUIRES: the mutex is held.
void RetryBudgets::set(const NodeName& node, double repeats) {
  if (repeats == kRepeatsMax) {
    repeats_.erase(node);
    return;
  }
  repeats_.insert_or_assign(node, repeats);
  if (repeats_.size() <= kNodesMax) return;
  const auto saved_up = [&](const auto& one) { return std::pair(one.first != node, one.second); };
  repeats_.erase(std::ranges::max_element(repeats_, {}, saved_up));
}

}  // namespace troupe::detail
