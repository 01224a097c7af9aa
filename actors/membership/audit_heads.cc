#include "actors/membership/audit_heads.h"

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
  const auto witnesses = std::min(kWitnesses, peers.size());
  std::ranges::partial_sort(peers, peers.begin() + static_cast<std::ptrdiff_t>(witnesses));
  peers.resize(witnesses);
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
  Known& known = found->second;
  if (told.line <= known.said) return false;
  const TimePoint quiet_since = std::max(known.quiet_since, now) + kKeptEvery;
  if (quiet_since > now + kKeptAtOnce * kKeptEvery) return false;
  known.quiet_since = quiet_since;
  known.said = told.line;
  return true;
}

}  // namespace troupe::detail
