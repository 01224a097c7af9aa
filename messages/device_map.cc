#include "messages/device_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {

DeviceMap::DeviceMap(std::initializer_list<Pair> pairs) {
  for (const auto& [here, there] : pairs) add(here, there);
}

void DeviceMap::add(Device here, Device there) {
  for (const Device device : {here, there}) {
    if (device.index < 0) throw std::invalid_argument(fmt::format("[device_map] {} is no device", to_string(device)));
  }
  for (const auto& [from, to] : pairs_) {
    if (from == here && to == there) return;
    if (from == here) {
      throw std::invalid_argument(fmt::format("[device_map] {} goes to {} already, not to {}", to_string(here),
                                              to_string(to), to_string(there)));
    }
    if (to == there) {
      throw std::invalid_argument(
          fmt::format("[device_map] {} is where {} goes already", to_string(there), to_string(from)));
    }
  }
  if (pairs_.size() == kPairsMax) {
    throw std::invalid_argument(fmt::format("[device_map] {} to {} would be pair {}: a map has at most {}",
                                            to_string(here), to_string(there), kPairsMax + 1, kPairsMax));
  }
  pairs_.emplace_back(here, there);
}

std::optional<Device> DeviceMap::target(Device here) const {
  const auto found = std::ranges::find(pairs_, here, &Pair::first);
  if (found != pairs_.end()) return found->second;
  return here.kind == DeviceKind::cpu ? std::optional(here) : std::nullopt;
}

DeviceMap DeviceMap::inverse() const {
  DeviceMap back;
  for (const auto& [here, there] : pairs_) back.pairs_.emplace_back(there, here);
  return back;
}

}  // namespace troupe
