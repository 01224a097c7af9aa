// The peers that are unreachable at present, for reports.
#pragma once

#include <map>
#include <mutex>

#include "actors/clock.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member.
class Silences {
 public:
  void began(const NodeName& peer, TimePoint since) {
    const std::lock_guard lock(mutex_);
    since_.insert_or_assign(peer, since);
  }
  void ended(const NodeName& peer) {
    const std::lock_guard lock(mutex_);
    since_.erase(peer);
  }

  /// Returns how long each of them has been silent.
  [[nodiscard]] std::map<NodeName, Duration> list(TimePoint now) const {
    std::map<NodeName, Duration> silent;
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, since] : since_) silent.emplace(peer, now - since);
    return silent;
  }

 private:
  mutable std::mutex mutex_;
  std::map<NodeName, TimePoint> since_;  // guarded by mutex_
};

}  // namespace troupe::detail
