// Which sent values got no gradient in a backward pass.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace troupe {

/// A message with values that require a gradient, of which some, or all, got none in a backward pass: a result that the
/// program does not use, or an argument on which no used result depends.
struct UnusedBoundary {
  NodeName from;             ///< sent the values
  NodeName to;               ///< received them
  std::string what;          ///< "arguments of rpc project", "result of rpc project", "value of to_here"
  std::uint32_t sent = 0;    ///< values that require a gradient
  std::uint32_t unused = 0;  ///< of these, values without a gradient in the pass
  friend bool operator==(const UnusedBoundary&, const UnusedBoundary&) = default;

  /// "result of rpc project, ps0 to trainer: 1 of 2 values without a gradient"
  [[nodiscard]] std::string text() const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar(from, to, what, sent, unused);
  }
};

namespace detail {

/// One node's part of the report.
struct UnusedHere {
  PassId pass;
  std::vector<UnusedBoundary> boundaries;  ///< in the order of sending
  std::vector<NodeName> peers;             ///< the node's peers in the context
  template <class Archive>
  void serialize(Archive& ar) {
    ar(pass, boundaries, peers);
  }
};

}  // namespace detail

}  // namespace troupe
