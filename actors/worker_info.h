// A member of a cluster: its name and its rank.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "messages/ids.h"

namespace troupe {

/// One member of a cluster, as a value: compares, hashes, prints, and travels as an argument or result.
struct WorkerInfo {
  NodeName name;
  std::uint32_t rank = 0;  ///< its place in the world, unique among the members that are up

  friend auto operator<=>(const WorkerInfo&, const WorkerInfo&) = default;

  /// Returns "ps0 (rank 1)".
  [[nodiscard]] std::string text() const { return name + " (rank " + std::to_string(rank) + ")"; }
  friend std::ostream& operator<<(std::ostream& out, const WorkerInfo& info) { return out << info.text(); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar(name, rank);
  }
};

}  // namespace troupe

template <>
struct std::hash<troupe::WorkerInfo> {
  std::size_t operator()(const troupe::WorkerInfo& info) const noexcept {
    return std::hash<std::string>{}(info.name) ^ (info.rank * std::size_t{0x9E3779B97F4A7C15U});
  }
};
