#include "actors/calls/retry_budget.h"

#include <algorithm>

namespace troupe::detail {

void RetryBudgets::earn(const NodeName& node, double share) {
  std::lock_guard lock(mutex_);
  double& repeats = repeats_.try_emplace(node, kRepeatsMax).first->second;
  repeats = std::min(repeats + share, std::max(kRepeatsMax, share));
}

bool RetryBudgets::spend(const NodeName& node) {
  std::lock_guard lock(mutex_);
  double& repeats = repeats_.try_emplace(node, kRepeatsMax).first->second;
  if (repeats < 1) return false;
  repeats -= 1;
  return true;
}

}  // namespace troupe::detail
