// Tests whether a process listens at an address.
#pragma once

#include <string>

#include "actors/clock.h"

namespace troupe {

/// Connects to `address`, "tcp://NUMBERS:PORT", "ipc://PATH" or "ipc://@NAME", and disconnects. Returns false if the
/// connection is refused or takes longer than `patience`; true for addresses of other kinds. Blocks.
[[nodiscard]] bool may_listen(const std::string& address, Duration patience);

}  // namespace troupe
