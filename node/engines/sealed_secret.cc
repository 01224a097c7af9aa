#include "node/engines/sealed_secret.h"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>

namespace troupe::detail {
namespace {

constexpr std::string_view kNoncePrefix = "TROUPESEAL";
constexpr std::size_t kNonceBytes = crypto_box_NONCEBYTES;
static_assert(SealedSecret::kBytes == kNonceBytes + crypto_box_MACBYTES + SealedSecret::kSecretBytes);

const unsigned char* as_chars(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* as_chars(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace

SealedSecret seal(std::span<const std::byte, SealedSecret::kSecretBytes> secret, const KeyPair& own,
                  const PublicKey& reader) {
  SealedSecret sealed;
  std::byte* const nonce = sealed.bytes.data();
  std::ranges::copy(std::as_bytes(std::span(kNoncePrefix)), nonce);
  randombytes_buf(nonce + kNoncePrefix.size(), kNonceBytes - kNoncePrefix.size());
  if (crypto_box_easy(as_chars(nonce + kNonceBytes), as_chars(secret.data()), secret.size(), as_chars(nonce),
                      as_chars(reader.bytes.data()), as_chars(own.secret().data())) != 0) {
    throw std::invalid_argument("a key that is no public key");
  }
  return sealed;
}

std::optional<LockedBytes> unseal(const SealedSecret& sealed, const KeyPair& own, const PublicKey& writer) {
  const std::byte* const nonce = sealed.bytes.data();
  if (!std::ranges::equal(std::span(nonce, kNoncePrefix.size()), std::as_bytes(std::span(kNoncePrefix)))) {
    return std::nullopt;
  }
  LockedBytes secret(SealedSecret::kSecretBytes);
  if (crypto_box_open_easy(as_chars(secret.bytes().data()), as_chars(nonce + kNonceBytes),
                           SealedSecret::kBytes - kNonceBytes, as_chars(nonce), as_chars(writer.bytes.data()),
                           as_chars(own.secret().data())) != 0) {
    return std::nullopt;
  }
  return secret;
}

}  // namespace troupe::detail
