#include "node/keys/signing.h"

#include <sodium.h>

#include <algorithm>

namespace troupe {
namespace {

static_assert(SigningKey::kSeedBytes == crypto_sign_SEEDBYTES && VerifyingKey::kBytes == crypto_sign_PUBLICKEYBYTES &&
              Signature::kBytes == crypto_sign_BYTES);

unsigned char* data_of(std::span<std::byte> bytes) { return reinterpret_cast<unsigned char*>(bytes.data()); }
const unsigned char* text_data(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
const unsigned char* const_data(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

}  // namespace

SigningKey SigningKey::random() {
  LockedBytes seed(kSeedBytes);
  randombytes_buf(seed.bytes().data(), seed.bytes().size());
  return from_seed(std::span<const std::byte, kSeedBytes>(seed.bytes()));
}

SigningKey SigningKey::from_seed(std::span<const std::byte, kSeedBytes> seed) {
  auto secret = std::make_shared<LockedBytes>(crypto_sign_SECRETKEYBYTES);
  VerifyingKey key;
  crypto_sign_seed_keypair(data_of(key.bytes), data_of(secret->bytes()), const_data(seed));
  return {std::move(secret), key};
}

Signature SigningKey::sign(std::string_view text) const {
  Signature signature;
  crypto_sign_detached(data_of(signature.bytes), nullptr, text_data(text), text.size(), const_data(secret_->bytes()));
  return signature;
}

bool is_signed(std::string_view text, const Signature& signature, const VerifyingKey& key) {
  return crypto_sign_verify_detached(const_data(signature.bytes), text_data(text), text.size(),
                                     const_data(key.bytes)) == 0;
}

}  // namespace troupe
