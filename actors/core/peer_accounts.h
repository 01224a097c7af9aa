// The resources that each peer holds on a node: counted, bounded, and shown by debug info.
#pragma once

#include <map>
#include <utility>

#include "actors/core/peer_quota.h"
#include "actors/core/reports.h"
#include "actors/sessions/answer_backlog.h"
#include "actors/sessions/peer_limits.h"
#include "actors/sessions/peer_loads.h"

namespace troupe::detail {

/// Thread rule: any thread may use any member.
struct PeerAccounts {
  PeerAccounts(const NodeName& self, const PeerLimits& limits);

  /// Returns the holdings by peer, without empty ones; this node's calls to itself are under its own name.
  [[nodiscard]] std::map<NodeName, PeerHoldings> list() const;

  PeerLoads loads;
  AnswerBacklog answers;
  PeerQuota owners;
  PeerQuota forks;
  PeerQuota contexts;
  PeerQuota shards;
};

}  // namespace troupe::detail
