// A TCP port that is kept for the first node of a cluster until that listens there.
#pragma once

#include <string>

#include "node/file_descriptor.h"

namespace troupe::detail {

struct ReservedPort {
  FileDescriptor reservation;  ///< bound, and never listens: the node (SO_REUSEADDR) can listen there
  std::string number;
};

/// Reserves `port` of `host`, which is numeric or "*"; 0: any free port. Throws std::invalid_argument for an address
/// that is none, std::system_error if the port cannot be used.
[[nodiscard]] ReservedPort reserve_port(const std::string& host, int port);

}  // namespace troupe::detail
