#include "actors/calls/device_maps.h"

namespace troupe::detail {

void DeviceMaps::add(const NodeName& peer, const DeviceMap& map) {
  for (const auto& [here, there] : map.pairs()) require_available("device_map", here);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const DeviceMap>& known = maps_[peer];
  DeviceMap all = known ? *known : DeviceMap();
  for (const auto& [here, there] : map.pairs()) all.add(here, there);
  known = std::make_shared<const DeviceMap>(std::move(all));
  any_.store(true, std::memory_order_release);
}

std::shared_ptr<const DeviceMap> DeviceMaps::of(const NodeName& peer) const {
  if (!any_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto found = maps_.find(peer);
  return found == maps_.end() ? nullptr : found->second;
}

}  // namespace troupe::detail
