// Keys of CURVE: one secret and one public number of 32 bytes for each node.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "node/keys/locked_bytes.h"

namespace troupe {

/// Names a node to its peers; no secret.
struct PublicKey {
  static constexpr std::size_t kBytes = 32;
  std::array<std::byte, kBytes> bytes{};
  friend auto operator<=>(const PublicKey&, const PublicKey&) = default;
};

/// A secret key in locked memory that is zeroed with the last copy, and its public key. Copies share the memory. The
/// secret key cannot be compared or printed.
class KeyPair {
 public:
  static constexpr std::size_t kSecretBytes = 32;

  [[nodiscard]] static KeyPair random();

  /// Copies the secret key from memory that the caller wipes, and computes the public key.
  [[nodiscard]] static KeyPair from_secret(std::span<const std::byte, kSecretBytes> secret);

  [[nodiscard]] const PublicKey& public_key() const { return public_key_; }

  /// For sockets and the serialization of a key ring only.
  [[nodiscard]] std::span<const std::byte, kSecretBytes> secret() const {
    return std::span<const std::byte, kSecretBytes>(secret_->bytes().data(), kSecretBytes);
  }

 private:
  KeyPair(std::shared_ptr<const LockedBytes> secret, const PublicKey& key)
      : secret_(std::move(secret)), public_key_(key) {}

  std::shared_ptr<const LockedBytes> secret_;
  PublicKey public_key_;
};

}  // namespace troupe
