// Where a module lives: a node and one of its devices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messages/ids.h"
#include "tensor/device.h"

namespace troupe {

/// A node, by its name or its rank, and one of its devices.
struct Placement {
  NodeName node;                     ///< empty if the rank is given
  std::optional<std::int64_t> rank;  ///< of the node
  Device device;

  /// Parses "ps0", "ps0/cuda:1", "rank:2" or "rank:2/cuda:1"; without a device, the CPU. Whether the node and its
  /// device exist is not checked. Throws std::invalid_argument
  /// `[placement] "ps0/cuda:0/x" has more than one /: expected NODE, NODE/DEVICE or rank:N/DEVICE`.
  [[nodiscard]] static Placement parse(std::string_view text);
};

}  // namespace troupe
