// TCP addresses: as users write them, as numbers, and which machines reach them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// The machines that reach the nodes of a cluster over TCP.
enum class Network : std::uint8_t {
  loopback,   ///< this machine
  keys,       ///< all machines of any network: connections are encrypted, and nodes prove the keys of a key ring
  trusted,    ///< all machines of a network; its users can read and change messages: bytes are not encrypted
  automatic,  ///< keys if the node has a key ring, otherwise loopback
};

/// The hint for errors about addresses that other machines reach.
inline constexpr std::string_view kTrustHint =
    "use 127.0.0.1; or give the nodes keys: network = \"keys\" in [cluster] of `troupe up`, NodeOptions::keys; or, if "
    "everybody on that network may read and change what nodes say, network = \"trusted\" in [cluster], "
    "TROUPE__CLUSTER__NETWORK=trusted, NodeOptions::network";

/// The parts of "tcp://HOST:PORT".
struct TcpPlace {
  std::string host;  ///< an IPv6 address has no brackets here
  std::string port;  ///< digits, or "*" for any free one

  /// Returns nullopt if `address` is malformed: an IPv6 address needs brackets, and a port is at most 65535.
  [[nodiscard]] static std::optional<TcpPlace> parse(std::string_view address);

  [[nodiscard]] std::string text() const;
};

/// Returns whether the numeric `host` is this machine only: 127.0.0.0/8, ::1, and the former within IPv6. False for a
/// name.
[[nodiscard]] bool is_loopback(const std::string& host);

/// Returns whether the numeric `host` is an IPv6 address that is good for one wire only, fe80::/10, with or without the
/// name of an interface ("%eth0"): other hosts need another name, and hosts on other wires do not reach it.
[[nodiscard]] bool is_link_local(const std::string& host);

/// Returns whether `host` is the wildcard: "*", 0.0.0.0, ::. Peers cannot connect to it.
[[nodiscard]] bool is_any_address(const std::string& host);

/// Returns the numeric address of `host`: a number, "*", the name of an interface of this machine, or a host name. If
/// there are several, the first of IPv4. Blocks as long as the system's resolver does. Throws std::invalid_argument
/// with its reason.
[[nodiscard]] std::string numbers_of(const std::string& host);

/// Returns the place of "tcp://HOST:PORT" that a user has peers told: its host in numbers, and "*", the bound port, for
/// port 0. Throws std::invalid_argument with the reason, also for a wildcard. Blocks as numbers_of().
[[nodiscard]] TcpPlace advertised_place(const std::string& text);

/// Returns this machine's address from which packets to the numeric `host` are sent; nullopt without a route.
[[nodiscard]] std::optional<std::string> own_address_toward(const std::string& host);

}  // namespace troupe
