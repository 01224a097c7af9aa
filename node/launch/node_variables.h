// The environment of a node that does not depend on which node it is.
#pragma once

#include "node/config/settings.h"

namespace troupe::detail {

/// Returns the threads of mathematics of each of `processes` on a host with `cores`; `configured` has priority, unless
/// it is 0.
[[nodiscard]] int math_threads_of(int configured, int cores, int processes);

/// Returns `host`, the variables of the launcher or agent, as its nodes inherit them: without what is meant for
/// another node, with `math_threads` for the libraries of mathematics where the user has not set them.
[[nodiscard]] Variables inherited_variables(Variables host, int math_threads);

}  // namespace troupe::detail
