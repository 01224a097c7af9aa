#include "actors/membership/audit_heads.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

namespace troupe::detail {
namespace {

/// Returns "10.0.0.7" of "tcp://10.0.0.7:4000"; "" of an address of another kind, which only nodes of one host share.
std::string_view host_of(std::string_view address) {
  constexpr std::string_view kTcp = "tcp://";
  if (!address.starts_with(kTcp)) return {};
  return address.substr(kTcp.size(), address.rfind(':') - kTcp.size());
}

/// Returns a number by which `node` prefers peers: another one for each pair.
std::uint64_t score(const NodeName& node, const NodeName& peer) {
  return XXH3_64bits_withSeed(peer.data(), peer.size(), XXH3_64bits(node.data(), node.size()));
}

}  // namespace

std::vector<NodeLife> AuditHeads::untold() {
  if (!head_) return {};
  std::vector<std::tuple<bool, std::uint64_t, Known*>> peers;
  peers.reserve(up_.size());
  for (auto& [name, known] : up_) {
    const bool is_here = host_of(known.peer.address) == host_of(self_.address);
    peers.emplace_back(is_here, score(self_.name, name), &known);
  }
  const auto witnesses = static_cast<std::ptrdiff_t>(std::min(kWitnesses, peers.size()));
  if (witnesses == 0) return {};
  std::iter_swap(peers.begin(), std::ranges::min_element(peers));  // on another host, if there is one
  const auto by_score = [](const auto& peer) { return std::get<1>(peer); };
  std::ranges::partial_sort(peers.begin() + 1, peers.begin() + witnesses, peers.end(), {}, by_score);
  peers.resize(static_cast<std::size_t>(witnesses));
  std::vector<NodeLife> tell;
  for (const auto& [is_here, points, known] : peers) {
    if (std::exchange(known->told, head_->line) < head_->line)
      tell.push_back({known->peer.name, known->peer.incarnation});
  }
  return tell;
}

std::vector<NodeLife> AuditHeads::peer_up(const Peer& peer) {
  up_.insert_or_assign(peer.name, Known{.peer = peer});
  return untold();
}

std::vector<NodeLife> AuditHeads::peer_down(const NodeLife& peer) {
  const auto known = up_.find(peer.name);
  if (known == up_.end() || known->second.peer.incarnation != peer.incarnation) return {};
  up_.erase(known);
  return untold();
}

std::vector<NodeLife> AuditHeads::changed(const msg::AuditHead& head) {
  head_ = head;
  return untold();
}

bool AuditHeads::keeps(const NodeLife& from, const msg::AuditHead& told, TimePoint now) {
  const auto found = up_.find(from.name);
  if (found == up_.end() || found->second.peer.incarnation != from.incarnation) return false;
  if (told.line <= found->second.said) return false;
  std::erase_if(paid_until_, [now](const auto& peer) { return peer.second <= now; });
  const auto paid = paid_until_.find(from.name);
  const TimePoint own = (paid == paid_until_.end() ? now : paid->second) + kKeptEvery;
  const TimePoint all = std::max(all_paid_until_, now) + kKeptOfAllEvery;
  if (own > now + kKeptAtOnce * kKeptEvery || all > now + kKeptOfAllAtOnce * kKeptOfAllEvery) return false;
  paid_until_.insert_or_assign(from.name, own);
  all_paid_until_ = all;
  found->second.said = told.line;
  return true;
}

}  // namespace troupe::detail
