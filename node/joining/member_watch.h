// Members that come and go with a file while a node runs.
#pragma once

#include <memory>

#include "actors/clock.h"
#include "actors/core/node_core.h"
#include "node/keys/key_ring.h"
#include "node/keys/member_file.h"

namespace troupe::detail {

/// Looks at `file` every `interval` by the node's clock, on the node's pool, and gives `ring` the members of each newer
/// list, until the node stops. Thread rule: any thread.
void watch_members(const std::shared_ptr<NodeCore>& node, std::shared_ptr<MemberFile> file, KeyRing ring,
                   Duration interval);

}  // namespace troupe::detail
