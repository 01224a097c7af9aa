// The collectives that this node takes part in: forms them, and finds the one that a message is for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/collectives/collective_member.h"
#include "actors/core/node_core.h"
#include "actors/group.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member; only `form` waits.
class Collectives {
 public:
  explicit Collectives(NodeCore& node) : node_(node) {}

  /// Meets the other members of `group`; the n-th formation of one member meets the n-th of the others. Ranks are places in
  /// the group's names, which all must give in the same order. Throws what Group::barrier throws, and bad_argument.
  [[nodiscard]] std::shared_ptr<CollectiveMember> form(const Scope& scope, const Group& group);

  /// A Call that is for collectives: what a member says.
  void handle(const Delivery& delivery);

  void peer_down(const Peer& peer, const Error& why);

  /// Every operation, now and later, fails with `why`.
  void stop(const Error& why);

 private:
  [[nodiscard]] std::vector<std::shared_ptr<CollectiveMember>> members() const;

  NodeCore& node_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 1;                                      // guarded by mutex_
  std::map<std::uint64_t, std::weak_ptr<CollectiveMember>> all_;  // guarded by mutex_; by the number that the others know
};

}  // namespace troupe::detail
