// How a newcomer introduces itself to a member that may not know its key: one request and one answer on a separate
// connection. Both are encrypted; only the sender of the answer is authenticated. Rule MB-12 of PROTOCOLS.md.
//
// A request, at most 4 KiB:
//   0 magic "TRPI" (4), version 1 (2), bytes that follow (2, little-endian)
//   8 a sealed box of libsodium for the member's public key: the newcomer's public key (32), its certificate
// The answer:
//   0 magic "TRPI" (4), version 1 (2), bytes that follow (2)
//   8 nothing: what came was not sealed for this member; or
//   8 nonce (24), a box from the member's key to the newcomer's: BLAKE2b-256 of the request (32), the error's
//     code or 0 (1), text
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "messages/error.h"
#include "node/keys/key_pair.h"

namespace troupe::detail {

inline constexpr std::size_t kIntroductionHead = 8;
inline constexpr std::size_t kIntroductionMax = 4096;  ///< bytes of either message, head included

/// Returns how many bytes follow the head of a message; 0 for the empty answer, nullopt if `head` begins no message.
/// REQUIRES: `head` has kIntroductionHead bytes.
[[nodiscard]] std::optional<std::size_t> introduction_rest(std::span<const std::byte> head);

/// The answer to a request that was not sealed for this member. Anybody can say it: it proves nothing.
[[nodiscard]] std::vector<std::byte> not_for_this_member();

/// What a newcomer says.
struct Introduction {
  PublicKey key;  ///< to which the answer goes; a claim
  std::string certificate;

  /// Returns the request to the member that has the key `to`; nullopt if that is no public key. REQUIRES: the
  /// certificate has at most Certificate::kBytesMax bytes.
  [[nodiscard]] std::optional<std::vector<std::byte>> sealed_to(const PublicKey& to) const;

  /// Returns nullopt for bytes that are no request to the owner of `own`.
  [[nodiscard]] static std::optional<Introduction> open(std::span<const std::byte> request, const KeyPair& own);
};

/// What the member says to it.
struct IntroductionAnswer {
  static constexpr std::size_t kTextMax = 512;  ///< characters; longer ones are cut

  std::optional<ErrorCode> refused;  ///< not_authorized, bad_argument or resource_exhausted; nullopt: it is let in
  std::string text;                  ///< why

  /// Returns the answer to `request`, readable for the owner of `to`; nullopt if that is no public key.
  [[nodiscard]] std::optional<std::vector<std::byte>> sealed(std::span<const std::byte> request, const KeyPair& own,
                                                             const PublicKey& to) const;

  /// Returns nullopt for bytes that are no answer to `request` by the owner of `from`.
  [[nodiscard]] static std::optional<IntroductionAnswer> open(std::span<const std::byte> answer,
                                                              std::span<const std::byte> request, const KeyPair& own,
                                                              const PublicKey& from);
};

}  // namespace troupe::detail
