// The key of one stream: agreed on by fresh shares of both ends, and bound to who they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "messages/ids.h"
#include "node/keys/key_pair.h"
#include "node/keys/locked_bytes.h"

namespace troupe::detail {

/// How the records of a stream are protected. Values travel.
enum class Cipher : std::uint8_t {
  none = 0,  ///< they are not: the session above has hashes, and the network is trusted or this host's
  aes256_gcm = 1,
  chacha20_poly1305 = 2,
};

/// A set of ciphers, one bit each, as it travels.
using CipherSet = std::uint8_t;

[[nodiscard]] constexpr CipherSet only(Cipher cipher) {
  return static_cast<CipherSet>(1U << static_cast<unsigned>(cipher));
}

/// Returns the ciphers of this processor that encrypt: AES only where it is done by hardware.
[[nodiscard]] CipherSet encrypting_ciphers();

/// Returns the fastest cipher that both sets have; nullopt if there is none.
[[nodiscard]] std::optional<Cipher> best_of(CipherSet one, CipherSet other);

/// Names one stream. 128 random bits, drawn by the node that opens it.
using StreamId = std::array<std::byte, 16>;

/// A public number of X25519, drawn for one stream.
using KeyShare = std::array<std::byte, 32>;

/// What both ends of a stream must have in common: its key depends on all of it. Packets travel from the opener to the
/// acceptor only.
struct StreamTerms {
  StreamId id{};
  Cipher cipher = Cipher::none;
  NodeLife opener{};
  NodeLife acceptor{};
  std::optional<PublicKey> opener_key = {};  ///< in a cluster with keys
  std::optional<PublicKey> acceptor_key = {};
  KeyShare opener_share{};
  KeyShare acceptor_share{};
};

/// 32 secret bytes of one stream. Copies share the memory.
class StreamKey {
 public:
  static constexpr std::size_t kBytes = 32;

  explicit StreamKey(std::shared_ptr<const LockedBytes> bytes) : bytes_(std::move(bytes)) {}

  /// For ciphers and proofs only.
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const {
    return std::span<const std::byte, kBytes>(bytes_->bytes().data(), kBytes);
  }

 private:
  std::shared_ptr<const LockedBytes> bytes_;
};

/// One end's part of the agreement, for one stream.
class StreamSecret {
 public:
  [[nodiscard]] static StreamSecret random();

  /// Copies a secret number from memory that the caller wipes.
  [[nodiscard]] static StreamSecret from_bytes(std::span<const std::byte, 32> secret);

  /// Returns the number that the other end is told.
  [[nodiscard]] const KeyShare& share() const { return share_; }

  /// Returns the key of the stream with these terms; `other` is the share of the other end, one of the terms. nullopt
  /// if that is one of the few numbers that make a key guessable.
  [[nodiscard]] std::optional<StreamKey> agree(const KeyShare& other, const StreamTerms& terms) const;

 private:
  explicit StreamSecret(std::shared_ptr<const LockedBytes> secret);

  std::shared_ptr<const LockedBytes> secret_;
  KeyShare share_{};
};

/// The bytes with which a connection begins: the id of its stream, and a proof that its maker has the stream's key.
using Preamble = std::array<std::byte, 32>;

[[nodiscard]] Preamble preamble_of(const StreamId& id, const StreamKey& key);

/// Returns the id in `preamble`, which proves nothing yet.
[[nodiscard]] StreamId id_of(const Preamble& preamble);

/// Returns whether `preamble` was made with `key`, in a time that does not tell how much of it is right.
[[nodiscard]] bool is_proved(const Preamble& preamble, const StreamKey& key);

[[nodiscard]] StreamId random_stream_id();

}  // namespace troupe::detail
