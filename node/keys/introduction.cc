#include "node/keys/introduction.h"

#include <sodium.h>

#include <algorithm>
#include <array>

#include "node/keys/certificate.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kMagic = "TRPI";
constexpr std::uint8_t kVersion = 1;
constexpr std::string_view kNoncePrefix = "TROUPEINTRO";  // no other box of the same keys has such a nonce
constexpr std::size_t kNonceBytes = crypto_box_NONCEBYTES;
constexpr std::size_t kHashBytes = 32;
static_assert(kIntroductionHead + crypto_box_SEALBYTES + PublicKey::kBytes + Certificate::kBytesMax <=
              kIntroductionMax);
static_assert(kIntroductionHead + kNonceBytes + crypto_box_MACBYTES + kHashBytes + 1 + IntroductionAnswer::kTextMax <=
              kIntroductionMax);

using Bytes = std::span<const std::byte>;

const unsigned char* as_chars(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }
unsigned char* as_chars(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }

/// Returns a message of `rest` zero bytes behind its head.
std::vector<std::byte> message_of(std::size_t rest) {
  std::vector<std::byte> message(kIntroductionHead + rest);
  std::ranges::copy(std::as_bytes(std::span(kMagic)), message.begin());
  message[4] = std::byte{kVersion};
  message[6] = static_cast<std::byte>(rest & 0xff);
  message[7] = static_cast<std::byte>(rest >> 8);
  return message;
}

/// Returns what follows the head; nullopt for bytes that are not one whole message.
std::optional<Bytes> rest_of(Bytes message) {
  if (message.size() < kIntroductionHead) return std::nullopt;
  const auto rest = introduction_rest(message.first(kIntroductionHead));
  if (!rest || message.size() != kIntroductionHead + *rest) return std::nullopt;
  return message.subspan(kIntroductionHead);
}

std::array<std::byte, kHashBytes> hash_of(Bytes request) {
  std::array<std::byte, kHashBytes> hash{};
  (void)crypto_generichash(as_chars(hash.data()), hash.size(), as_chars(request.data()), request.size(), nullptr, 0);
  return hash;
}

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void append(std::vector<std::byte>& to, Bytes bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace

std::optional<std::size_t> introduction_rest(Bytes head) {
  if (!std::ranges::equal(head.first(kMagic.size()), std::as_bytes(std::span(kMagic)))) return std::nullopt;
  if (head[4] != std::byte{kVersion} || head[5] != std::byte{0}) return std::nullopt;
  const std::size_t rest = std::to_integer<std::size_t>(head[6]) | std::to_integer<std::size_t>(head[7]) << 8;
  return rest <= kIntroductionMax - kIntroductionHead ? std::optional(rest) : std::nullopt;
}

std::vector<std::byte> not_for_this_member() { return message_of(0); }

std::optional<std::vector<std::byte>> Introduction::sealed_to(const PublicKey& to) const {
  std::vector<std::byte> plain(key.bytes.begin(), key.bytes.end());
  append(plain, std::as_bytes(std::span(certificate)));
  std::vector<std::byte> request = message_of(crypto_box_SEALBYTES + plain.size());
  if (crypto_box_seal(as_chars(request.data() + kIntroductionHead), as_chars(plain.data()), plain.size(),
                      as_chars(to.bytes.data())) != 0) {
    return std::nullopt;
  }
  return request;
}

std::optional<Introduction> Introduction::open(Bytes request, const KeyPair& own) {
  const auto sealed = rest_of(request);
  if (!sealed || sealed->size() <= crypto_box_SEALBYTES + PublicKey::kBytes) return std::nullopt;
  std::vector<std::byte> plain(sealed->size() - crypto_box_SEALBYTES);
  if (plain.size() > PublicKey::kBytes + Certificate::kBytesMax) return std::nullopt;
  if (crypto_box_seal_open(as_chars(plain.data()), as_chars(sealed->data()), sealed->size(),
                           as_chars(own.public_key().bytes.data()), as_chars(own.secret().data())) != 0) {
    return std::nullopt;
  }
  Introduction introduction;
  std::copy_n(plain.begin(), PublicKey::kBytes, introduction.key.bytes.begin());
  introduction.certificate = text_of(Bytes(plain).subspan(PublicKey::kBytes));
  return introduction;
}

std::optional<std::vector<std::byte>> IntroductionAnswer::sealed(Bytes request, const KeyPair& own,
                                                                 const PublicKey& to) const {
  const auto hash = hash_of(request);
  std::vector<std::byte> plain(hash.begin(), hash.end());
  plain.push_back(static_cast<std::byte>(refused ? *refused : ErrorCode{}));
  append(plain, std::as_bytes(std::span(text).first(std::min(text.size(), kTextMax))));
  std::vector<std::byte> answer = message_of(kNonceBytes + crypto_box_MACBYTES + plain.size());
  std::byte* const nonce = answer.data() + kIntroductionHead;
  std::ranges::copy(std::as_bytes(std::span(kNoncePrefix)), nonce);
  randombytes_buf(nonce + kNoncePrefix.size(), kNonceBytes - kNoncePrefix.size());
  if (crypto_box_easy(as_chars(nonce + kNonceBytes), as_chars(plain.data()), plain.size(), as_chars(nonce),
                      as_chars(to.bytes.data()), as_chars(own.secret().data())) != 0) {
    return std::nullopt;
  }
  return answer;
}

std::optional<IntroductionAnswer> IntroductionAnswer::open(Bytes answer, Bytes request, const KeyPair& own,
                                                           const PublicKey& from) {
  const auto rest = rest_of(answer);
  if (!rest || rest->size() <= kNonceBytes + crypto_box_MACBYTES + kHashBytes) return std::nullopt;
  const Bytes nonce = rest->first(kNonceBytes);
  if (!std::ranges::equal(nonce.first(kNoncePrefix.size()), std::as_bytes(std::span(kNoncePrefix))))
    return std::nullopt;
  const Bytes box = rest->subspan(kNonceBytes);
  std::vector<std::byte> plain(box.size() - crypto_box_MACBYTES);
  if (crypto_box_open_easy(as_chars(plain.data()), as_chars(box.data()), box.size(), as_chars(nonce.data()),
                           as_chars(from.bytes.data()), as_chars(own.secret().data())) != 0) {
    return std::nullopt;
  }
  if (!std::ranges::equal(Bytes(plain).first(kHashBytes), hash_of(request))) return std::nullopt;
  IntroductionAnswer opened;
  const auto code = static_cast<ErrorCode>(plain[kHashBytes]);
  if (code != ErrorCode{}) {
    using enum ErrorCode;
    if (code != not_authorized && code != bad_argument && code != resource_exhausted) return std::nullopt;
    opened.refused = code;
  }
  opened.text = text_of(Bytes(plain).subspan(kHashBytes + 1));
  return opened;
}

}  // namespace troupe::detail
