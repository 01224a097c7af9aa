// Lines of limited speed between the nodes of a process, without root: a link that holds messages back.
#pragma once

#include <chrono>
#include <functional>

#include "node/local_cluster.h"
#include "node/sim/faulty_link.h"

namespace samples {

/// Returns when messages arrive over a line that carries so many bytes in a second, one line to each peer: after the
/// messages that were sent before, and after their own bytes. `now` is the time.
[[nodiscard]] troupe::sim::DecideFate line_of(
    double bytes_per_second,
    std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now);

/// Returns options for a cluster in which each pair of nodes has such a line, in each direction.
[[nodiscard]] troupe::LocalClusterOptions with_lines_of(double bytes_per_second);

}  // namespace samples
