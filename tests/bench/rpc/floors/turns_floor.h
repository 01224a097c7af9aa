// The floor of a call whose argument and result need not move: two processes that wake each other by turns.
#pragma once

#include <cstddef>
#include <vector>

namespace troupe::bench {

/// Hands a turn to a process of its own through shared memory, which hands it back, and returns the times of `count`
/// such rounds in microseconds. As Troupe's nodes do, who waits looks for 200 us, unless both share a processor, and
/// then sleeps. Throws std::system_error.
[[nodiscard]] std::vector<double> turns_floor(std::size_t count);

}  // namespace troupe::bench
