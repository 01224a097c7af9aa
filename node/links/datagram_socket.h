// A socket for short messages that are useless when late: UDP, or datagrams of a unix socket.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/links/socket_address.h"
#include "node/port_range.h"

namespace troupe {

/// A received datagram, cut to the size of `bytes` if it is longer.
struct Datagram {
  std::array<std::byte, 64> bytes;
  std::size_t size = 0;
  detail::FileDescriptor file{};  ///< that came with it from a process of this host

  [[nodiscard]] std::span<const std::byte> content() const { return std::span(bytes).first(size); }
};

/// Never blocks. A datagram that cannot be sent or kept is dropped without an error, as a network drops it. Thread
/// rule: one thread at a time.
class DatagramSocket {
 public:
  /// Binds near the address at which a link listens. "tcp://HOST:PORT": the UDP port of the same number, or another one
  /// of `ports`, or any other without them, if it is in use. "ipc://PATH": "PATH.pulse". "ipc://@NAME": a free abstract
  /// name. Errors: resource_exhausted (no descriptors, no port), bad_argument (another kind of address).
  [[nodiscard]] static Result<DatagramSocket> open_beside(const std::string& address,
                                                          std::optional<PortRange> ports = std::nullopt);

  DatagramSocket(DatagramSocket&& other) noexcept
      : family_(other.family_),
        descriptor_(std::move(other.descriptor_)),
        place_(std::move(other.place_)),
        file_(std::exchange(other.file_, {})),
        admitted_(other.admitted_),
        senders_(std::move(other.senders_)) {}
  DatagramSocket& operator=(DatagramSocket&&) = delete;
  ~DatagramSocket();

  /// Opens a unix socket for one sender only, at "PATH.pulse.NUMBER" or a free abstract name. nullopt: it cannot be
  /// opened, or this is a UDP socket, which keeps enough datagrams for all senders.
  [[nodiscard]] std::optional<DatagramSocket> open_for_one(std::uint32_t number) const;

  /// Returns its address for peers that reach the link at `advertised`: "udp://HOST:PORT", "unix://PATH",
  /// "unix://@NAME".
  [[nodiscard]] std::string address_beside(std::string_view advertised) const;

  /// Parses a result of `address_beside`; nullopt if the text is no such address, or contains a host name.
  [[nodiscard]] static std::optional<SocketAddress> parse(std::string_view address);

  /// As above, also for a host name; blocks as long as the system's resolver does.
  [[nodiscard]] static std::optional<SocketAddress> look_up(std::string_view address);

  /// Sends a datagram, also to an address of another kind than its own. To a unix socket `file`, a descriptor, goes
  /// with it, unless it is negative.
  void send(const SocketAddress& to, std::span<const std::byte> bytes, int file = -1);

  /// A datagram to send. Its parts outlive the call.
  struct Letter {
    const SocketAddress* to = nullptr;
    std::span<const std::byte> bytes;
  };
  /// As `send` for each, without descriptors, in one system call for sixteen. One that cannot be sent delays no other.
  void send_all(std::span<const Letter> letters);

  /// The first bytes of a datagram.
  using Beginning = std::array<std::byte, 8>;

  /// From now on only datagrams that begin with `beginning` take room in this socket, and in those that `open_for_one`
  /// opens: the system drops others when they arrive. What is in it already stays.
  void admit_only(const Beginning& beginning);

  /// For poll.
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  static constexpr std::size_t kBatch = 16;
  using Batch = std::array<Datagram, kBatch>;

  /// Takes datagrams that wait, oldest first. Returns how many; fewer than kBatch: none waits. A descriptor for which
  /// this process has no number free is dropped, and others than the first of a datagram.
  [[nodiscard]] std::size_t receive(Batch& into) const;

 private:
  [[nodiscard]] static std::optional<DatagramSocket> open_unix(std::string file);
  /// Returns the descriptor of the socket that sends to addresses of `family`.
  [[nodiscard]] int sender(int family);

  DatagramSocket(int family, detail::FileDescriptor descriptor, std::string place, std::string file)
      : family_(family), descriptor_(std::move(descriptor)), place_(std::move(place)), file_(std::move(file)) {}

  const int family_;
  detail::FileDescriptor descriptor_;
  std::string place_;                              ///< of UDP the port, of a unix socket its path or "@NAME"
  std::string file_;                               ///< removed on destruction; may be empty
  std::optional<Beginning> admitted_;              ///< see admit_only; nullopt: all
  std::map<int, detail::FileDescriptor> senders_;  ///< for addresses of other families, by family
};

}  // namespace troupe
