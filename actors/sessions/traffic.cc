#include "actors/sessions/traffic.h"

namespace troupe::detail {

void Traffic::measure(bool on) {
  std::lock_guard lock(mutex_);
  on_.store(on, std::memory_order_relaxed);
  for (auto& [peer, traffic] : peers_) traffic = {};
}

void Traffic::began(const NodeName& peer) {
  std::lock_guard lock(mutex_);
  peers_[peer] = {};
}

void Traffic::ended(const NodeName& peer) {
  std::lock_guard lock(mutex_);
  peers_.erase(peer);
}

std::optional<std::map<NodeName, PeerTraffic>> Traffic::counts() const {
  std::lock_guard lock(mutex_);
  return on_.load(std::memory_order_relaxed) ? std::optional(peers_) : std::nullopt;
}

std::uint64_t Traffic::bytes(const Frames& frames) {
  std::uint64_t sum = 0;
  for (const Frame& frame : frames) sum += frame.bytes.size();
  return sum;
}

void Traffic::count(const NodeName& peer, std::uint64_t PeerTraffic::*what, std::uint64_t amount) {
  if (!on_.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mutex_);
  const auto known = peers_.find(peer);
  if (known != peers_.end()) known->second.*what += amount;
}

}  // namespace troupe::detail
