// Nodes that treat peers on this host as those of other hosts.
#pragma once

#include "node/node.h"

namespace troupe::testing {

/// All that the node says to others travels, over sockets.
inline void share_nothing(NodeOptions& options) {
  options.shared_memory_max = 0;
  options.rings = false;
}

}  // namespace troupe::testing
