// The records of a stream: each has one packet of frames, and is encrypted as a whole.
//
//   0  bytes of the content (4), zero (4); authenticated with the content
//   8  content: number of frames (4), the size of each (4), the bytes of each
//      tag (16), unless the stream is not encrypted
//
// Little-endian. The nonce of a record is its number in the stream: it does not travel, so that a record which is lost,
// repeated or moved is no record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "messages/frame.h"
#include "node/keys/locked_bytes.h"
#include "node/links/streams/stream_keys.h"

namespace troupe::detail {

using RecordHead = std::array<std::byte, 8>;
using RecordTag = std::array<std::byte, 16>;

/// Larger packets do not fit. A reader takes memory for a record before its tag has arrived.
inline constexpr std::size_t kRecordContentMax = std::size_t{8} << 20;

/// Packets of more frames do not fit: each costs the reader more memory than the bytes that describe it.
inline constexpr std::size_t kRecordFramesMax = (std::size_t{1} << 16) + 64;

/// Returns whether `packet` fits into one record: it has frames, not too many, all in memory that the CPU reads here.
[[nodiscard]] bool fits_record(const Frames& packet);

/// Encrypts or opens the records of one stream, in order, each number once: so it cannot be copied. Thread rule: one
/// thread at a time.
class RecordCipher {
 public:
  RecordCipher(const StreamKey& key, Cipher cipher);
  RecordCipher(RecordCipher&&) = default;
  RecordCipher& operator=(RecordCipher&&) = default;

  [[nodiscard]] Cipher cipher() const { return cipher_; }

  /// Returns the bytes after a content: 16 or 0.
  [[nodiscard]] std::size_t tag_bytes() const { return cipher_ == Cipher::none ? 0 : std::tuple_size_v<RecordTag>; }

  /// Returns the number of records so far of an encrypted stream.
  [[nodiscard]] std::uint64_t records() const { return records_; }

  /// Encrypts `content` where it is, and writes the tag. REQUIRES: the stream is encrypted.
  void seal(const RecordHead& head, std::span<std::byte> content, std::span<std::byte, 16> tag);

  /// Decrypts `content` where it is. Returns false if it is not the next record of the stream: then nothing of it may
  /// be used, and the stream has ended. REQUIRES: the stream is encrypted.
  [[nodiscard]] bool open(const RecordHead& head, std::span<std::byte> content, std::span<const std::byte, 16> tag);

 private:
  using AesNonce = std::array<unsigned char, 12>;
  [[nodiscard]] AesNonce next_nonce();

  Cipher cipher_;
  StreamKey key_;
  std::unique_ptr<LockedBytes> expanded_;  ///< the key as AES uses it; null with another cipher
  std::uint64_t records_ = 0;
};

/// Returns the record of `packet` in parts to be written one after the other: one part if it is encrypted, else the
/// packet's own frames after their description. Throws std::bad_alloc. REQUIRES: fits_record(packet).
[[nodiscard]] Frames record_of(const Frames& packet, RecordCipher& cipher);

/// Returns the number of bytes of the content; nullopt if no record begins like this.
[[nodiscard]] std::optional<std::size_t> content_bytes(const RecordHead& head);

/// Returns the frames of an opened content; they share its memory. nullopt if it describes other bytes than it has.
[[nodiscard]] std::optional<Frames> frames_of(const Frame& content);

}  // namespace troupe::detail
