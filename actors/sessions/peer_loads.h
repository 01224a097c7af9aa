// The pending calls between this node and each of its peers, for reports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "actors/sessions/call_credit.h"
#include "messages/ids.h"

namespace troupe::detail {

/// The router's view after each message.
struct PeerLoad {
  std::size_t waiting_calls = 0;  ///< unsent calls of this node
  std::size_t waiting_bytes = 0;
  std::uint64_t received = 0;                       ///< calls of the peer since its session started
  std::shared_ptr<const CreditAccount> begun = {};  ///< counts those that have started
  friend bool operator==(const PeerLoad&, const PeerLoad&) = default;

  /// Returns the calls of the peer that have arrived and not started.
  [[nodiscard]] std::uint64_t queued() const {
    if (!begun) return 0;
    const std::uint64_t over = begun->calls(Charge::call) + begun->calls(Charge::nested);
    return received - std::min(received, over);
  }
};

/// Thread rule: any thread may call any member; only the router calls `changed` and `ended`.
class PeerLoads {
 public:
  void changed(const NodeName& peer, const PeerLoad& load) {
    const std::lock_guard lock(mutex_);
    peers_.insert_or_assign(peer, load);
  }
  void ended(const NodeName& peer) {
    const std::lock_guard lock(mutex_);
    peers_.erase(peer);
  }

  [[nodiscard]] std::map<NodeName, PeerLoad> list() const {
    const std::lock_guard lock(mutex_);
    return peers_;
  }

 private:
  mutable std::mutex mutex_;
  std::map<NodeName, PeerLoad> peers_;  // guarded by mutex_
};

}  // namespace troupe::detail
