// Wire formats of devices and device maps. Included by archive.h.
#pragma once

#include "messages/archive.h"
#include "messages/device_map.h"
#include "tensor/device.h"

namespace troupe {

/// A Device is two bytes: 0 the CPU, N + 1 the GPU N.
template <>
struct WireFormat<Device> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const Device& device);
  static void load(InArchive& ar, Device& device);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("device");
  }
};

/// Its pairs as a list; a list that names a device twice on one side is refused.
template <>
struct WireFormat<DeviceMap> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const DeviceMap& map);
  static void load(InArchive& ar, DeviceMap& map);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("device_map");
  }
};

}  // namespace troupe
