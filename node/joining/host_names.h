// Host names in seeds: which addresses they stand for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"

namespace troupe {

/// Returns a host's addresses as numbers, those of IPv6 in brackets, in the order in which the system gives them. Blocks
/// for as long as the system wants. Errors: peer_unreachable, with the system's reason.
[[nodiscard]] Result<std::vector<std::string>> look_up_host(const std::string& host);

using HostLookup = std::function<Result<std::vector<std::string>>(const std::string& host)>;

/// Returns what a link can connect to for `seed`: itself, or "tcp://ADDRESS:PORT" with each address of its host's name. A
/// name that has none yet is looked up again until `due`; no limit without. Blocks until then; `lookup` may run on after.
/// Errors: bad_argument (no port), peer_unreachable (names the host and says why).
[[nodiscard]] Result<std::vector<std::string>> addresses_of(const std::string& seed, std::optional<TimePoint> due,
                                                            const HostLookup& lookup = &look_up_host);

}  // namespace troupe
