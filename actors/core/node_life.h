// One life of a node: tables that must not mix up a node with its successor of the same name are keyed by it.
#pragma once

#include <compare>

#include "messages/ids.h"

namespace troupe {

/// A node's name and incarnation; a restarted node has the same name and another life.
struct NodeLife {
  NodeName name;
  Incarnation incarnation;
  friend auto operator<=>(const NodeLife&, const NodeLife&) = default;
};

}  // namespace troupe
