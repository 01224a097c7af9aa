// Ed25519: the owner of the cluster signs lists offline, and every holder of the public key can check them.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "node/keys/locked_bytes.h"

namespace troupe {

/// No secret: what was signed with the other half can be checked with it.
struct VerifyingKey {
  static constexpr std::size_t kBytes = 32;
  std::array<std::byte, kBytes> bytes{};
  friend bool operator==(const VerifyingKey&, const VerifyingKey&) = default;
};

struct Signature {
  static constexpr std::size_t kBytes = 64;
  std::array<std::byte, kBytes> bytes{};
};

/// A key that signs, in locked memory that is zeroed with the last copy. Copies share the memory. It cannot be compared
/// or printed.
class SigningKey {
 public:
  static constexpr std::size_t kSeedBytes = 32;

  [[nodiscard]] static SigningKey random();

  /// Copies the seed from memory that the caller wipes.
  [[nodiscard]] static SigningKey from_seed(std::span<const std::byte, kSeedBytes> seed);

  [[nodiscard]] const VerifyingKey& verifying_key() const { return verifying_key_; }
  [[nodiscard]] Signature sign(std::string_view text) const;

  /// For the file that keeps it only.
  [[nodiscard]] std::span<const std::byte, kSeedBytes> seed() const {
    return std::span<const std::byte, kSeedBytes>(secret_->bytes().data(), kSeedBytes);
  }

 private:
  SigningKey(std::shared_ptr<const LockedBytes> secret, const VerifyingKey& key)
      : secret_(std::move(secret)), verifying_key_(key) {}

  std::shared_ptr<const LockedBytes> secret_;  ///< the seed, then the public half
  VerifyingKey verifying_key_;
};

/// Returns whether the owner of `key` has signed exactly `text`.
[[nodiscard]] bool is_signed(std::string_view text, const Signature& signature, const VerifyingKey& key);

}  // namespace troupe
