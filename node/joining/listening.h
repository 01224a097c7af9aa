// Whether anybody listens at an address.
#pragma once

#include <string>

#include "actors/clock.h"

namespace troupe {

/// Connects to `address`, "tcp://NUMBERS:PORT", "ipc://PATH" or "ipc://@NAME", and hangs up. Returns false if that is refused
/// or takes longer than `patience`, true also for addresses of other kinds. Blocks.
[[nodiscard]] bool may_listen(const std::string& address, Duration patience);

}  // namespace troupe
