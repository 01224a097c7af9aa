// The receiving end of one connection: first a stranger's, then a stream's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "messages/frame.h"
#include "node/file_descriptor.h"
#include "node/links/streams/record.h"
#include "node/links/streams/stream_keys.h"
#include "tensor/storage.h"

namespace troupe::detail {

/// Never blocks. A stranger costs a descriptor and the 32 bytes of a preamble. Thread rule: one thread at a time.
class InStream {
 public:
  explicit InStream(FileDescriptor socket) : socket_(std::move(socket)) {}

  /// The stranger says which stream this is: call `prove`, or close.
  struct Claimed {
    Preamble preamble{};
  };
  /// A whole packet, as the peer sent it.
  struct Arrived {
    Frames packet;
  };
  /// Nothing follows. What had not arrived as a whole is lost: the session sends it again.
  struct Closed {
    std::string why;       ///< empty: the peer closed the connection
    bool refused = false;  ///< the bytes were no record, or not the next one
  };
  using Happened = std::variant<Claimed, Arrived, Closed>;

  /// For poll.
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Reads until something happens; nullopt: there are no more bytes now.
  [[nodiscard]] std::optional<Happened> read();

  /// From now on the bytes are records. REQUIRES: the caller has checked the preamble.
  void prove(const StreamKey& key, Cipher cipher) { cipher_.emplace(key, cipher); }

 private:
  enum class Stage { preamble, head, content, tag };
  enum class Filled { yes, not_yet, never };

  [[nodiscard]] Filled fill(std::span<std::byte> part);
  [[nodiscard]] std::span<std::byte> part();
  [[nodiscard]] std::optional<Happened> advance();
  [[nodiscard]] Happened finish_record();
  [[nodiscard]] static Happened refuse(std::string why) { return Closed{.why = std::move(why), .refused = true}; }

  FileDescriptor socket_;
  std::optional<RecordCipher> cipher_;  ///< once proved
  Stage stage_ = Stage::preamble;
  std::size_t filled_ = 0;  ///< bytes of the present part
  Preamble preamble_{};
  RecordHead head_{};
  RecordTag tag_{};
  Storage content_;
  std::span<std::byte> content_bytes_;  ///< of content_
  std::string failure_;                 ///< of the connection
};

}  // namespace troupe::detail
