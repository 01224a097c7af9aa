// Places that TCP reaches: as people write them, as numbers, and who else can reach them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace troupe {

/// Who can reach the nodes of a cluster over TCP.
enum class Network : std::uint8_t {
  loopback,  ///< this machine
  trusted,   ///< every machine of a network whose users may read and change what nodes say: bytes are not encrypted
};

/// What to do where other machines would have to be trusted.
inline constexpr std::string_view kTrustHint =
    "use 127.0.0.1, or, if everybody on that network may read what nodes say, network = \"trusted\" in [cluster], "
    "TROUPE__CLUSTER__NETWORK=trusted, NodeOptions::network";

/// "tcp://HOST:PORT" in its parts.
struct TcpPlace {
  std::string host;  ///< that of IPv6 without its brackets
  std::string port;  ///< digits, or "*" for any free one

  /// Nothing if `address` is not like that: an IPv6 address needs brackets, and a port is at most 65535.
  [[nodiscard]] static std::optional<TcpPlace> parse(std::string_view address);

  [[nodiscard]] std::string text() const;
};

/// Whether `host` stands for this machine alone, in numbers: 127.0.0.0/8, ::1, and the former within IPv6. Of a name: false.
[[nodiscard]] bool is_loopback(const std::string& host);

/// Whether `host` stands for all addresses of this machine: "*", 0.0.0.0, ::. Nobody can be called there.
[[nodiscard]] bool is_any_address(const std::string& host);

/// Returns the numbers of `host`: a number, "*", the name of an interface of this machine, or of a host. Of several, the
/// first of IPv4. Blocks for as long as the system's resolver wants. Throws std::invalid_argument with its reason.
[[nodiscard]] std::string numbers_of(const std::string& host);

/// Returns the address of this machine from which packets to `host`, in numbers, leave; nothing without a way there.
[[nodiscard]] std::optional<std::string> own_address_toward(const std::string& host);

}  // namespace troupe
