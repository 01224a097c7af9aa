// A TCP port that is kept for the first node of a cluster until that listens there.
#pragma once

#include <optional>
#include <string>

#include "node/file_descriptor.h"
#include "node/port_range.h"

namespace troupe::detail {

struct ReservedPort {
  FileDescriptor reservation;  ///< bound, and never listens: the node (SO_REUSEADDR) can listen there
  std::string number;
};

/// Reserves `port` of `host`, which is numeric or "*"; 0: a free one of `ports`, or any free one. Throws
/// std::invalid_argument for an address that is none, std::system_error if no such port can be used.
[[nodiscard]] ReservedPort reserve_port(const std::string& host, int port,
                                        const std::optional<PortRange>& ports = std::nullopt);

}  // namespace troupe::detail
