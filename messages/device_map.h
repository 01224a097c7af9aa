// The map from a sender's devices to those of the receiver.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/device.h"

namespace troupe {

/// Pairs (device here, device there), each device once on either side. A tensor on the CPU goes to the CPU unless the
/// CPU is mapped; a tensor on an unmapped GPU does not travel. The answer to a call uses the inverse map. A map has at
/// most kPairsMax pairs, so that each one travels. A value.
class DeviceMap {
 public:
  using Pair = std::pair<Device, Device>;

  /// More devices than a machine has; few enough to compare each pair with all others.
  static constexpr std::size_t kPairsMax = 256;

  DeviceMap() = default;
  /// Throws as add.
  DeviceMap(std::initializer_list<Pair> pairs);

  /// Adds a pair; an existing pair changes nothing. Throws std::invalid_argument `[device_map] cuda:0 goes to cuda:1
  /// already, not to cuda:2`, `[device_map] cuda:1 is where cuda:0 goes already`, `[device_map] cuda:-1 is no device`,
  /// `[device_map] cuda:256 to cuda:256 would be pair 257: a map has at most 256`.
  void add(Device here, Device there);

  /// Returns the device on which tensors on `here` arrive; nullopt if they do not travel.
  [[nodiscard]] std::optional<Device> target(Device here) const;

  /// Returns the map of the opposite direction.
  [[nodiscard]] DeviceMap inverse() const;

  [[nodiscard]] const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  friend bool operator==(const DeviceMap&, const DeviceMap&) = default;

 private:
  std::vector<Pair> pairs_;  // in the order in which they were added; there are few
};

}  // namespace troupe
