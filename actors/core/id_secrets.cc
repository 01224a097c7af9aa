#include "actors/core/id_secrets.h"

#include <sodium.h>

#include <bit>
#include <cstring>
#include <stdexcept>

namespace troupe::detail {

static_assert(crypto_shorthash_siphashx24_KEYBYTES == sizeof(IdSecrets::Key));
static_assert(crypto_shorthash_siphashx24_BYTES == sizeof(IdSecret));

IdSecrets IdSecrets::drawn() {
  if (sodium_init() < 0) throw std::runtime_error("the system gives no random bits (libsodium cannot start)");
  Key key;
  randombytes_buf(key.data(), key.size());
  return IdSecrets(key);
}

IdSecrets IdSecrets::known(Incarnation incarnation) { return IdSecrets(std::bit_cast<Key>(incarnation)); }

IdSecret IdSecrets::secret_for(Kind kind, std::uint64_t serial) const {
  std::array<std::uint8_t, 1 + sizeof serial> input{static_cast<std::uint8_t>(kind)};
  std::memcpy(input.data() + 1, &serial, sizeof serial);
  IdSecret secret;
  crypto_shorthash_siphashx24(reinterpret_cast<unsigned char*>(&secret), input.data(), input.size(), key_.data());
  return secret;
}

}  // namespace troupe::detail
