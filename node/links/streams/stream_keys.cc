#include "node/links/streams/stream_keys.h"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/frame.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kKeyContext = "troupe stream key 1";
constexpr std::string_view kProofContext = "troupe stream begins";

const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

/// Fields of known size, or with their size before them: two lists of fields never have the same bytes.
class Transcript {
 public:
  void add(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void add(std::string_view text) {
    add_number(text.size());
    add(std::as_bytes(std::span{text}));
  }
  void add_number(std::uint64_t number) {
    std::array<std::byte, sizeof number> bytes{};
    store_little_endian(std::span<std::byte>{bytes}, number);
    add(bytes);
  }
  void add(const NodeLife& life) {
    add(std::string_view{life.name});
    add_number(life.incarnation.high);
    add_number(life.incarnation.low);
  }
  void add(const std::optional<PublicKey>& key) {
    add_number(key ? 1 : 0);
    if (key) add(key->bytes);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

void start_sodium() {
  if (::sodium_init() < 0) throw std::runtime_error("libsodium cannot start");
}

using Proof = std::array<std::byte, 16>;
static_assert(std::tuple_size_v<StreamId> + std::tuple_size_v<Proof> == std::tuple_size_v<Preamble>);

Proof proof_of(const StreamId& id, const StreamKey& key) {
  Transcript transcript;
  transcript.add(kProofContext);
  transcript.add(id);
  Proof proof{};
  (void)::crypto_generichash(raw(proof.data()), proof.size(), raw(transcript.bytes().data()), transcript.bytes().size(),
                             raw(key.bytes().data()), key.bytes().size());
  return proof;
}

}  // namespace

CipherSet encrypting_ciphers() {
  start_sodium();
  CipherSet ciphers = only(Cipher::chacha20_poly1305);
  if (::crypto_aead_aes256gcm_is_available() == 1) ciphers |= only(Cipher::aes256_gcm);
  return ciphers;
}

std::optional<Cipher> best_of(CipherSet one, CipherSet other) {
  for (const Cipher cipher : {Cipher::aes256_gcm, Cipher::chacha20_poly1305, Cipher::none}) {
    if ((one & other & only(cipher)) != 0) return cipher;
  }
  return std::nullopt;
}

StreamSecret::StreamSecret(std::shared_ptr<const LockedBytes> secret) : secret_(std::move(secret)) {
  static_assert(crypto_scalarmult_BYTES == std::tuple_size_v<KeyShare>);
  if (::crypto_scalarmult_base(raw(share_.data()), raw(secret_->bytes().data())) != 0)
    throw std::runtime_error("[StreamSecret] X25519 failed");
}

StreamSecret StreamSecret::random() {
  auto secret = std::make_shared<LockedBytes>(crypto_scalarmult_SCALARBYTES);
  ::randombytes_buf(secret->bytes().data(), secret->bytes().size());
  return StreamSecret(std::move(secret));
}

StreamSecret StreamSecret::from_bytes(std::span<const std::byte, 32> bytes) {
  auto secret = std::make_shared<LockedBytes>(bytes.size());
  std::ranges::copy(bytes, secret->bytes().begin());
  return StreamSecret(std::move(secret));
}

std::optional<StreamKey> StreamSecret::agree(const KeyShare& other, const StreamTerms& terms) const {
  LockedBytes shared(crypto_scalarmult_BYTES);
  if (::crypto_scalarmult(raw(shared.bytes().data()), raw(secret_->bytes().data()), raw(other.data())) != 0)
    return std::nullopt;
  Transcript transcript;
  transcript.add(kKeyContext);
  transcript.add(terms.id);
  transcript.add_number(static_cast<std::uint64_t>(terms.cipher));
  transcript.add(terms.opener);
  transcript.add(terms.opener_key);
  transcript.add(terms.opener_share);
  transcript.add(terms.acceptor);
  transcript.add(terms.acceptor_key);
  transcript.add(terms.acceptor_share);
  auto key = std::make_shared<LockedBytes>(StreamKey::kBytes);
  (void)::crypto_generichash(raw(key->bytes().data()), key->bytes().size(), raw(transcript.bytes().data()),
                             transcript.bytes().size(), raw(shared.bytes().data()), shared.bytes().size());
  return StreamKey(std::move(key));
}

Preamble preamble_of(const StreamId& id, const StreamKey& key) {
  Preamble preamble{};
  const Proof proof = proof_of(id, key);
  std::ranges::copy(proof, std::ranges::copy(id, preamble.begin()).out);
  return preamble;
}

StreamId id_of(const Preamble& preamble) {
  StreamId id{};
  std::ranges::copy_n(preamble.begin(), id.size(), id.begin());
  return id;
}

bool is_proved(const Preamble& preamble, const StreamKey& key) {
  const Proof proof = proof_of(id_of(preamble), key);
  return ::sodium_memcmp(preamble.data() + std::tuple_size_v<StreamId>, proof.data(), proof.size()) == 0;
}

StreamId random_stream_id() {
  start_sodium();
  StreamId id{};
  ::randombytes_buf(id.data(), id.size());
  return id;
}

}  // namespace troupe::detail
