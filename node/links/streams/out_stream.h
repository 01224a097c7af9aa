// The sending end of one stream: a TCP connection, and the records that wait for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "node/file_descriptor.h"
#include "node/links/socket_address.h"
#include "node/links/streams/record.h"
#include "node/links/streams/stream_keys.h"

namespace troupe::detail {

/// Never blocks. Thread rule: one thread at a time.
class OutStream {
 public:
  /// Starts to connect. A connection on which nothing is acknowledged for `silence_max` ends. Errors: peer_unreachable,
  /// resource_exhausted.
  [[nodiscard]] static Result<OutStream> connect(const SocketAddress& to, const StreamId& id, const StreamKey& key,
                                                 Cipher cipher, Duration silence_max);

  /// For poll.
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Call when the descriptor is writable for the first time: then records may be put. Errors: peer_unreachable.
  [[nodiscard]] Result<Unit> connected();

  /// Adds the record of `packet`. Throws std::bad_alloc, then nothing is added. REQUIRES: fits_record(packet).
  void put(const Frames& packet);

  /// Writes what the connection takes now. Errors: peer_down.
  [[nodiscard]] Result<Unit> write();

  /// Returns the bytes that wait.
  [[nodiscard]] std::size_t pending() const { return pending_bytes_; }

  /// Returns the records that were put so far, and their bytes.
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  OutStream(FileDescriptor socket, const StreamId& id, const StreamKey& key, Cipher cipher);
  void add(Frame part);

  FileDescriptor socket_;
  RecordCipher cipher_;
  std::deque<Frame> parts_;  ///< to be written, in order
  std::size_t written_ = 0;  ///< of the first part
  std::size_t pending_bytes_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace troupe::detail
