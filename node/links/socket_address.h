// Addresses in the form of the system's calls.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <string_view>

namespace troupe {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  [[nodiscard]] int family() const { return bytes.ss_family; }
};

/// Returns the address of a path, or of "@NAME" in the abstract namespace; nullopt if it is too long.
[[nodiscard]] std::optional<SocketAddress> unix_address(std::string_view path);

enum class HostNames {
  refuse,   ///< numbers only
  look_up,  ///< blocks as long as the system's resolver does
};

/// Returns the address of "HOST:PORT" or "[HOST]:PORT", with a numeric port.
[[nodiscard]] std::optional<SocketAddress> host_address(std::string_view host_and_port,
                                                        HostNames names = HostNames::refuse);

/// Returns "HOST:PORT" or "[HOST]:PORT" in numbers; empty for an address of another kind.
[[nodiscard]] std::string host_and_port_of(const SocketAddress& address);

/// Returns whether "tcp://HOST:PORT" is an address of this machine; true for every address of another kind. nullopt if
/// HOST is a name that is not looked up, or not found.
[[nodiscard]] std::optional<bool> is_of_this_host(std::string_view address, HostNames names = HostNames::refuse);

}  // namespace troupe
