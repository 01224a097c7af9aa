// One life of a node: the key of tables that must not confuse a node with its successor of the same name.
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
