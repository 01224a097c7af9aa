// Which devices of the receiver take the tensors of a sender.
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/device.h"

namespace troupe {

/// Pairs (device here, device there), each device once on either side. Tensors on the CPU go to the CPU unless it is
/// mapped; tensors on a GPU that is not mapped do not travel. The answer to a call takes the same way back. A value.
class DeviceMap {
 public:
  using Pair = std::pair<Device, Device>;

  DeviceMap() = default;
  /// Throws as add.
  DeviceMap(std::initializer_list<Pair> pairs);

  /// Adds a pair; one that is there already changes nothing. Throws std::invalid_argument
  /// `[device_map] cuda:0 goes to cuda:1 already, not to cuda:2`, `[device_map] cuda:1 is where cuda:0 goes already`.
  void add(Device here, Device there);

  /// Where tensors on `here` go; nothing if they do not travel.
  [[nodiscard]] std::optional<Device> target(Device here) const;

  /// The way back.
  [[nodiscard]] DeviceMap inverse() const;

  [[nodiscard]] const std::vector<Pair>& pairs() const noexcept { return pairs_; }
  friend bool operator==(const DeviceMap&, const DeviceMap&) = default;

 private:
  std::vector<Pair> pairs_;  // in the order in which they came; there are few
};

}  // namespace troupe
