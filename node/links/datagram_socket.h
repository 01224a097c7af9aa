// A socket for short messages that are worth nothing once they are late: UDP, or datagrams of a unix socket.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/links/socket_address.h"

namespace troupe {

/// Nothing blocks. What cannot be sent or kept is dropped without an error, as a network drops it.
/// Thread rule: one thread at a time.
class DatagramSocket {
 public:
  /// Binds beside the address at which a link listens. "tcp://HOST:PORT": the UDP port of the same number, or another one
  /// of that host if it is taken. "ipc://PATH": "PATH.pulse". "ipc://@NAME": an abstract name that is free. Errors:
  /// resource_exhausted (no descriptors, no port), bad_argument (another kind of address).
  [[nodiscard]] static Result<DatagramSocket> open_beside(const std::string& address);

  DatagramSocket(DatagramSocket&& other) noexcept
      : family_(other.family_),
        descriptor_(std::move(other.descriptor_)),
        place_(std::move(other.place_)),
        file_(std::exchange(other.file_, {})),
        senders_(std::move(other.senders_)) {}
  DatagramSocket& operator=(DatagramSocket&&) = delete;
  ~DatagramSocket();

  /// Where it is reached by peers that reach the link at `advertised`: "udp://HOST:PORT", "unix://PATH", "unix://@NAME".
  [[nodiscard]] std::string address_beside(std::string_view advertised) const;

  /// What `address_beside` returns, as an address; none if the text is no such address, or has the name of a host.
  [[nodiscard]] static std::optional<SocketAddress> parse(std::string_view address);

  /// Likewise, also of a host's name; blocks for as long as the system looks that up.
  [[nodiscard]] static std::optional<SocketAddress> look_up(std::string_view address);

  /// Also to an address of another kind than its own.
  void send(const SocketAddress& to, std::span<const std::byte> bytes);

  /// The next datagram, in `into`; none: everything was read. One that is longer than `into` is cut to its size.
  [[nodiscard]] std::optional<std::span<const std::byte>> receive(std::span<std::byte> into) const;

 private:
  DatagramSocket(int family, detail::FileDescriptor descriptor, std::string place, std::string file)
      : family_(family), descriptor_(std::move(descriptor)), place_(std::move(place)), file_(std::move(file)) {}

  const int family_;
  detail::FileDescriptor descriptor_;
  std::string place_;  ///< of UDP the port, of a unix socket its path or "@NAME"
  std::string file_;   ///< removed at the end; may be empty
  std::map<int, detail::FileDescriptor> senders_;  ///< for addresses of other families, which they name
};

}  // namespace troupe
