// The map from this node's devices to each peer's devices.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "messages/device_map.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Thread rule: any thread may call any member.
class DeviceMaps {
 public:
  /// Adds the pairs of `map` to those for `peer`. Throws, and adds nothing: as DeviceMap::add; DeviceError
  /// `[device_map] cuda:0 is not available: ...` if this process does not have a device.
  void add(const NodeName& peer, const DeviceMap& map);

  /// Returns the map for `peer`; null: from the CPU to the CPU.
  [[nodiscard]] std::shared_ptr<const DeviceMap> of(const NodeName& peer) const;

 private:
  std::atomic<bool> any_{false};  // false: no lock is needed (nodes without GPUs)
  mutable std::mutex mutex_;
  std::map<NodeName, std::shared_ptr<const DeviceMap>> maps_;  // guarded by mutex_
};

}  // namespace troupe::detail
