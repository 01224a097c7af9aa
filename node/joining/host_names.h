// The addresses of host names in seeds.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"

namespace troupe {

/// Returns a host's numeric addresses, IPv6 in brackets, in the system's order. Blocks as long as the system's resolver
/// does. Errors: peer_unreachable, with the system's reason.
[[nodiscard]] Result<std::vector<std::string>> look_up_host(const std::string& host);

using HostLookup = std::function<Result<std::vector<std::string>>(const std::string& host)>;

/// Returns the addresses to connect to for `seed`: itself, or "tcp://ADDRESS:PORT" with each address of its host name.
/// A name without an address is looked up again until `due` (nullopt: no limit). Blocks until then; `lookup` may still
/// run afterwards. Errors: bad_argument (no port), peer_unreachable (names the host and the reason).
[[nodiscard]] Result<std::vector<std::string>> addresses_of(const std::string& seed, std::optional<TimePoint> due,
                                                            const HostLookup& lookup = &look_up_host);

/// Returns the numbers of `host`, where a node of this machine is to listen: itself if it is a number or "*", else
/// what `lookup` knows, as above. Errors: peer_unreachable (names the host and the reason).
[[nodiscard]] Result<std::string> own_numbers_of(const std::string& host, std::optional<TimePoint> due,
                                                 const HostLookup& lookup);

/// As above, with numbers_of, which knows interfaces too.
[[nodiscard]] Result<std::string> own_numbers_of(const std::string& host, std::optional<TimePoint> due);

}  // namespace troupe
