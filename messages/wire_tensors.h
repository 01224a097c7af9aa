// Wire formats of devices, device maps and sparse tensors. Included by archive.h.
#pragma once

#include "messages/archive.h"
#include "messages/device_map.h"
#include "tensor/device.h"
#include "tensor/sparse.h"

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

/// Its pairs as a list; one of more than DeviceMap::kPairsMax, or that names a device twice on one side, is refused.
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

/// A boolean for presence; then its two tensors, its shape and whether it is coalesced.
template <>
struct WireFormat<SparseTensor> {
  static constexpr bool kTravels = true;
  static void save(OutArchive& ar, const SparseTensor& value);
  static void load(InArchive& ar, SparseTensor& value);
  template <class Schema>
  static void describe(Schema& schema) {
    schema.token("sparse");
  }
};

}  // namespace troupe
