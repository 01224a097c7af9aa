#include "actors/calls/listed_grants.h"

#include <utility>

namespace troupe::detail {

bool ListedGrants::may_call(std::string_view peer, std::string_view function) const {
  return !revoked.contains(peer) && calls.may_call(peer, function);
}

bool ListedGrants::has(std::string_view peer, ValueRight right) const {
  return !revoked.contains(peer) && !(right == ValueRight::owns ? without_owns : without_reads).contains(peer);
}

ReplaceableGrants::ReplaceableGrants(ListedGrants grants) { replace(std::move(grants)); }

void ReplaceableGrants::replace(ListedGrants grants) {
  auto fresh = grants.empty() ? nullptr : std::make_shared<const ListedGrants>(std::move(grants));
  const std::lock_guard lock(mutex_);
  grants_.swap(fresh);
  forbids_ = grants_ != nullptr;
}

/// Returns null if nothing is withheld.
std::shared_ptr<const ListedGrants> ReplaceableGrants::given() const {
  if (!forbids_) return nullptr;
  const std::lock_guard lock(mutex_);
  return grants_;
}

bool ReplaceableGrants::may_call(std::string_view peer, std::string_view function) const {
  const auto grants = given();
  return !grants || grants->may_call(peer, function);
}

bool ReplaceableGrants::has(std::string_view peer, ValueRight right) const {
  const auto grants = given();
  return !grants || grants->has(peer, right);
}

}  // namespace troupe::detail
