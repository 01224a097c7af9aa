// A socket on which peers of this host hand descriptors of their memory over.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/spare_descriptor.h"

namespace troupe::detail {

/// What a datagram is for.
enum class HandOver : std::uint8_t {
  page = 1,      ///< the page of leases that the receiver writes
  segment = 2,   ///< a segment that the receiver reads
  ready = 3,     ///< no memory: shows the sender's process
  ring = 4,      ///< the ring that the receiver reads
  doorbell = 5,  ///< the page where the receiver rings
  pulse = 6,     ///< the page of heartbeats that the receiver reads
};

/// A secret of the receiver, which it told one peer over the authenticated link: only that peer's datagrams count.
/// Compared in constant time; no operator==.
struct InboxToken {
  std::array<std::byte, 16> bytes{};
  [[nodiscard]] bool matches(const InboxToken& other) const;
};
[[nodiscard]] InboxToken random_inbox_token();
/// Returns what `sender` shows in a datagram, who was told `token`. It is of no use to others: a peer that passes on
/// the tokens it was told cannot make two nodes share memory in its name.
[[nodiscard]] InboxToken shown_by(std::string_view sender, const InboxToken& token);

/// One datagram. Without `ready` it has one descriptor.
struct HandedOver {
  HandOver kind = HandOver::ready;
  InboxToken token{};  ///< as the sender shows it
  std::uint32_t segment = 0;
  std::uint64_t bytes = 0;  ///< of the memory
  FileDescriptor file;
  pid_t sender = 0;  ///< as the kernel says; 0: a process that this one cannot see
};

/// Never blocks. Thread rule: one thread at a time; `send` any thread.
class SegmentInbox {
 public:
  enum class Sent : std::uint8_t {
    done,
    full,    ///< or this process may hand over no more descriptors now
    nobody,  ///< there is no such inbox here: its process has ended, or runs on another host
  };

  /// Binds near the address at which a link listens: "ipc://PATH" at "PATH.memory"; for "ipc://@NAME" and "tcp://..."
  /// at an abstract name that nobody can guess, so that no other host has a socket of that name. Errors:
  /// resource_exhausted.
  [[nodiscard]] static Result<SegmentInbox> open_beside(const std::string& address);

  /// Returns an inbox that nobody reaches: no socket has the name of its place.
  [[nodiscard]] static SegmentInbox none();

  SegmentInbox(SegmentInbox&&) noexcept;
  SegmentInbox& operator=(SegmentInbox&&) = delete;
  ~SegmentInbox();

  /// A path, or "@NAME".
  [[nodiscard]] const std::string& place() const { return place_; }

  /// Sends a datagram with `descriptor`, if it is not negative, to the inbox at `place`, which a peer has named. A peer
  /// over tcp may be anybody's process on any host: it can name no socket but an inbox. Leaves errno, unless it is
  /// done.
  [[nodiscard]] Sent send(std::string_view place, const HandedOver& what, int descriptor) const;

  /// Returns the next datagram of a process of this user; nullopt if there is none. Others are dropped, as malformed
  /// ones are. Where no descriptor is free, there is one for each datagram whose file is closed before the next call.
  [[nodiscard]] std::optional<HandedOver> receive();

 private:
  SegmentInbox(FileDescriptor descriptor, std::string place, std::string file, bool reaches_files)
      : descriptor_(std::move(descriptor)),
        place_(std::move(place)),
        file_(std::move(file)),
        reaches_files_(reaches_files) {
    spare_.take_back();
  }

  FileDescriptor descriptor_;
  std::string place_;
  std::string file_;       ///< removed in the destructor; may be empty
  bool reaches_files_;     ///< peers are processes of this user, and may name a path
  SpareDescriptor spare_;  ///< the thread that receives; makes room for that of a datagram
};

}  // namespace troupe::detail
