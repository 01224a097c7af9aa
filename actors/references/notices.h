// What a HandleTable says after an event, sent.
#pragma once

#include "actors/references/handle_table.h"

namespace troupe::detail {

class NodeCore;

/// Notifies the nodes that `notices` name. A word about a handle that gets no memory ends `node`. REQUIRES: the caller
/// holds no lock.
void send_notices(NodeCore& node, const RRefNotices& notices) noexcept;

}  // namespace troupe::detail
