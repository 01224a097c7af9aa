#include "messages/wire_device.h"

#include <fmt/format.h>

#include <stdexcept>
#include <vector>

#include "messages/tensor_wire.h"

namespace troupe {

void WireFormat<Device>::save(OutArchive& ar, const Device& device) { ar(detail::wire_number(device)); }

void WireFormat<Device>::load(InArchive& ar, Device& device) { device = detail::device_of(ar.number<std::uint16_t>()); }

void WireFormat<DeviceMap>::save(OutArchive& ar, const DeviceMap& map) { ar(map.pairs()); }

void WireFormat<DeviceMap>::load(InArchive& ar, DeviceMap& map) {
  std::vector<DeviceMap::Pair> pairs;
  ar(pairs);
  map = {};
  try {
    for (const auto& [here, there] : pairs) map.add(here, there);
  } catch (const std::invalid_argument& error) {
    throw DecodeError(fmt::format("[decode] {}", error.what()));
  }
}

}  // namespace troupe
