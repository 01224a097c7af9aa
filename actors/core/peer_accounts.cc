#include "actors/core/peer_accounts.h"

namespace troupe::detail {

PeerAccounts::PeerAccounts(const NodeName& self, const PeerLimits& limits)
    : answers(limits.answer_bytes_max),
      owners(self, "values", "peer.owners_max", limits.owners_max),
      forks(self, "handles of values", "peer.forks_max", limits.forks_max),
      contexts(self, "autograd contexts", "peer.contexts_max", limits.contexts_max),
      shards(self, "shards of optimizers", "peer.shards_max", limits.shards_max) {}

std::map<NodeName, PeerHoldings> PeerAccounts::list() const {
  std::map<NodeName, PeerHoldings> peers;
  for (const auto& [peer, load] : loads.list()) {
    PeerHoldings& of = peers[peer];
    of.waiting_calls = load.waiting_calls;
    of.waiting_bytes = load.waiting_bytes;
    of.queued_calls = load.queued();
  }
  for (const auto& [life, bytes] : answers.bytes()) peers[life.name].answer_bytes += bytes;
  const auto add = [&peers](const PeerQuota& quota, std::size_t PeerHoldings::*what) {
    for (const auto& [peer, count] : quota.counts()) peers[peer].*what = count;
  };
  add(owners, &PeerHoldings::owners);
  add(forks, &PeerHoldings::forks);
  add(contexts, &PeerHoldings::contexts);
  add(shards, &PeerHoldings::shards);
  std::erase_if(peers, [](const auto& peer) { return peer.second == PeerHoldings{}; });
  return peers;
}

}  // namespace troupe::detail
