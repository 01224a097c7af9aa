// The output of `troupe stack`: all waits on one node.
#pragma once

#include <string>

#include "node/control/cluster_report.h"

namespace troupe {

/// Returns one paragraph for each kind of wait that occurs, the oldest first.
[[nodiscard]] std::string text_of(const StackReport& report);

}  // namespace troupe
