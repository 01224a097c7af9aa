// What `troupe stack` shows: what waits for what on one node.
#pragma once

#include <string>

#include "node/control/cluster_report.h"

namespace troupe {

/// One paragraph for each kind of wait that there is, the oldest first.
[[nodiscard]] std::string text_of(const StackReport& report);

}  // namespace troupe
