// The boundaries that a backward pass will use, where they are known before it begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "messages/ids.h"

namespace troupe::msg {

/// Boundaries whose values one node sent to another. `sender` made their ids and has the SendFns, `receiver` the
/// RecvFns; gradients go from `receiver` to `sender`.
struct RouteLeg {
  NodeName sender;
  std::uint64_t incarnation = 0;  ///< of the ids
  NodeName receiver;
  std::vector<std::uint64_t> serials;  ///< of the ids; ascending, each once
  friend auto operator<=>(const RouteLeg&, const RouteLeg&) = default;
  [[nodiscard]] BoundaryId id(std::uint64_t serial) const { return {sender, incarnation, serial}; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar(sender, incarnation, receiver, serials);
  }
};

/// Legs in ascending order, at most one from one node to another.
using RouteLegs = std::vector<RouteLeg>;

/// Routes with more boundaries than these are not sent: the pass marks the boundaries instead.
inline constexpr std::size_t kBeyondMax = 64;  ///< beyond one boundary, in its header
inline constexpr std::size_t kRouteMax = 256;  ///< in a pass

[[nodiscard]] inline std::size_t boundary_count(const RouteLegs& legs) {
  std::size_t count = 0;
  for (const RouteLeg& leg : legs) count += leg.serials.size();
  return count;
}

/// A pass over exactly these boundaries, which starts at its root's node only.
struct BackwardRoute {
  RouteLegs legs;
  bool retain_graph = false;  ///< keep what backward needs for a further pass
  friend bool operator==(const BackwardRoute&, const BackwardRoute&) = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar(legs, retain_graph);
  }
};

}  // namespace troupe::msg
