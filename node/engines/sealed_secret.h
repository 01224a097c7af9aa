// The cluster's secret on its way to one member, through a file that others may have read.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>

#include "node/keys/key_pair.h"
#include "node/keys/locked_bytes.h"

namespace troupe::detail {

/// A secret that only one member can read, and of which it knows that the owner of one public key has sealed it:
/// crypto_box of NaCl (X25519, XSalsa20-Poly1305), the nonce before it. The keys are those of CURVE, whose own boxes
/// never have a nonce that begins as this one does.
struct SealedSecret {
  static constexpr std::size_t kSecretBytes = 32;
  static constexpr std::size_t kBytes = 24 + 16 + kSecretBytes;  // nonce, tag, secret
  std::array<std::byte, kBytes> bytes{};
  friend bool operator==(const SealedSecret&, const SealedSecret&) = default;
};

/// Seals `secret` of this node for the owner of `reader`. Throws std::invalid_argument if `reader` is no public key.
[[nodiscard]] SealedSecret seal(std::span<const std::byte, SealedSecret::kSecretBytes> secret, const KeyPair& own,
                                const PublicKey& reader);

/// Returns the secret; nullopt if it was not sealed by the owner of `writer` for this node.
[[nodiscard]] std::optional<LockedBytes> unseal(const SealedSecret& sealed, const KeyPair& own,
                                                const PublicKey& writer);

}  // namespace troupe::detail
