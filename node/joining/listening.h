// Tests whether processes listen at addresses.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"

namespace troupe {

/// Connects to `address`, "tcp://NUMBERS:PORT", "ipc://PATH" or "ipc://@NAME", and disconnects. Returns false if the
/// connection is refused or takes longer than `patience`; true for addresses of other kinds. Blocks.
[[nodiscard]] bool may_listen(const std::string& address, Duration patience);

/// As above, of many addresses, in their order: connects to hundreds at once, each within `patience`. At `due` it
/// returns, with true for those of which it does not know yet.
[[nodiscard]] std::vector<bool> may_listen(const std::vector<std::string>& addresses, Duration patience,
                                           std::optional<TimePoint> due);

}  // namespace troupe
