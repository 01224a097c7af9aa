// The traffic between this node and each of its peers.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "actors/core/reports.h"
#include "messages/frame.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Counts since the session with each peer began. Thread rule: any thread may call any member.
class Traffic {
 public:
  /// Switches counting on or off. Off also forgets all counts.
  void measure(bool on);

  void began(const NodeName& peer);
  void ended(const NodeName& peer);

  void called(const NodeName& peer) { count(peer, &PeerTraffic::calls_sent, 1); }
  void called_by(const NodeName& peer) { count(peer, &PeerTraffic::calls_received, 1); }
  void sent(const NodeName& peer, const Frames& frames) { count(peer, &PeerTraffic::bytes_sent, bytes(frames)); }
  void damaged_by(const NodeName& peer) { count(peer, &PeerTraffic::packets_damaged, 1); }
  void received(const NodeName& peer, const Frames& frames) {
    count(peer, &PeerTraffic::bytes_received, bytes(frames));
  }

  /// Returns the counts by peer with a session; nullopt while it is off.
  [[nodiscard]] std::optional<std::map<NodeName, PeerTraffic>> counts() const;

 private:
  [[nodiscard]] static std::uint64_t bytes(const Frames& frames);
  void count(const NodeName& peer, std::uint64_t PeerTraffic::*what, std::uint64_t amount);

  std::atomic<bool> on_{true};
  mutable std::mutex mutex_;
  std::map<NodeName, PeerTraffic> peers_;  // guarded by mutex_
};

}  // namespace troupe::detail
