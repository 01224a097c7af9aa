// How many ports of a range a machine still has.
#pragma once

#include <cstdint>
#include <string>

#include "node/doctor/doctor_messages.h"
#include "node/links/socket_address.h"
#include "node/port_range.h"

namespace troupe::detail {

/// Which sockets must have a port for it to count.
enum class PortKind : std::uint8_t { tcp, tcp_and_udp };

/// Tries to bind the first PortCount::kTriedMax ports of `range`, one after the other. `host`: a numeric address of
/// this machine. Throws std::system_error if no socket can be opened.
[[nodiscard]] PortCount count_free_ports(const std::string& host, const PortRange& range, PortKind kind);

/// Returns the address of a numeric `host`, with or without colons. Throws std::invalid_argument if it is none.
[[nodiscard]] SocketAddress numeric_address(const std::string& host, int port);

}  // namespace troupe::detail
