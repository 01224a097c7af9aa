// Links that delay every message by a random time: messages overtake each other, between peers and on one connection.
#pragma once

#include <chrono>
#include <cstdint>

#include "node/local_cluster.h"

namespace troupe::testing {

/// Returns options for clusters whose links delay by 0 to `delay_max`. Each link draws from `seed` independently.
[[nodiscard]] LocalClusterOptions random_delays(std::uint64_t seed, std::chrono::microseconds delay_max);

}  // namespace troupe::testing
