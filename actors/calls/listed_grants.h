// What the signed list of members lets each of them do on the others.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "actors/calls/call_grants.h"
#include "messages/ids.h"

namespace troupe::detail {

/// What a member may do with values of other members, beside the functions that it may call.
enum class ValueRight : std::uint8_t {
  owns,   ///< makes values and shards of optimizers on other members: what stays there after the call
  reads,  ///< gets copies of values of other members
};

/// A plain value; by default every member may do everything. Thread rule: one thread fills it; then any may ask.
struct ListedGrants {
  using Names = std::set<NodeName, std::less<>>;

  CallGrants calls = {};
  Names without_owns = {};
  Names without_reads = {};
  Names revoked = {};  ///< may do nothing: members of the list before whose connections have not ended yet

  /// Returns true if it withholds nothing from any member.
  [[nodiscard]] bool empty() const {
    return calls.empty() && without_owns.empty() && without_reads.empty() && revoked.empty();
  }

  /// Returns whether `peer` may call `function` of other members.
  [[nodiscard]] bool may_call(std::string_view peer, std::string_view function) const;

  /// Returns whether `peer` has `right` on the values of other members.
  [[nodiscard]] bool has(std::string_view peer, ValueRight right) const;

  friend bool operator==(const ListedGrants&, const ListedGrants&) = default;
};

/// Grants that are replaced while a node runs. Thread rule: any thread.
class ReplaceableGrants {
 public:
  explicit ReplaceableGrants(ListedGrants grants);

  void replace(ListedGrants grants);

  /// As ListedGrants::may_call, by those given last.
  [[nodiscard]] bool may_call(std::string_view peer, std::string_view function) const;

  /// As ListedGrants::has, by those given last.
  [[nodiscard]] bool has(std::string_view peer, ValueRight right) const;

 private:
  [[nodiscard]] std::shared_ptr<const ListedGrants> given() const;

  mutable std::mutex mutex_;
  std::shared_ptr<const ListedGrants> grants_;  ///< guarded by mutex_; null: they withhold nothing
  std::atomic<bool> forbids_ = false;           ///< grants_ is not null
};

}  // namespace troupe::detail
