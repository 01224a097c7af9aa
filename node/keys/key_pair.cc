#include "node/keys/key_pair.h"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>

namespace troupe {
namespace {

static_assert(crypto_box_PUBLICKEYBYTES == PublicKey::kBytes && crypto_box_SECRETKEYBYTES == KeyPair::kSecretBytes);

unsigned char* raw(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

KeyPair KeyPair::random() {
  LockedBytes secret(kSecretBytes);
  PublicKey key;
  crypto_box_keypair(raw(key.bytes), raw(secret.bytes()));
  return {std::make_shared<const LockedBytes>(std::move(secret)), key};
}

KeyPair KeyPair::from_secret(std::span<const std::byte, kSecretBytes> secret) {
  LockedBytes copy(kSecretBytes);
  std::ranges::copy(secret, copy.bytes().begin());
  PublicKey key;
  if (crypto_scalarmult_base(raw(key.bytes), raw(copy.bytes())) != 0) {
    throw std::runtime_error("libsodium cannot compute a public key");
  }
  return {std::make_shared<const LockedBytes>(std::move(copy)), key};
}

}  // namespace troupe
