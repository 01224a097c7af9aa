// Sends the notifications that a HandleTable returns after an event.
#pragma once

#include "actors/references/handle_table.h"

namespace troupe::detail {

class NodeCore;

/// Notifies the nodes that `notices` name. If a notification gets no memory, `node` ends. REQUIRES: the caller holds no
/// lock.
void send_notices(NodeCore& node, const RRefNotices& notices) noexcept;

}  // namespace troupe::detail
