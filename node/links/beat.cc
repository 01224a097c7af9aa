#include "node/links/beat.h"

#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "messages/frame.h"

namespace troupe {
namespace {

constexpr std::uint32_t kMagic = 0x42505254;  // "TRPB"
constexpr std::uint32_t kSees = 1;
constexpr std::uint32_t kIsSeen = 2;
constexpr std::size_t kProofAt = 28;
constexpr std::size_t kProofBytes = Beat::kBytes - kProofAt;

static_assert(crypto_shorthash_KEYBYTES == PulseKey::kBytes);
static_assert(crypto_shorthash_BYTES == kProofBytes);

std::array<unsigned char, kProofBytes> prove(std::span<const std::byte> beat, const PulseKey& key) {
  std::array<unsigned char, kProofBytes> proof{};
  crypto_shorthash(proof.data(), reinterpret_cast<const unsigned char*>(beat.data()), kProofAt,
                   reinterpret_cast<const unsigned char*>(key.bytes().data()));
  return proof;
}

std::uint32_t wire_ms(Duration duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<std::uint32_t>(std::clamp<decltype(ms)>(ms, 0, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

PulseKey::PulseKey(std::span<const std::byte, kBytes> bytes) { std::ranges::copy(bytes, bytes_.begin()); }

Beat::Bytes encode(const Beat& beat, const PulseKey& key) {
  Beat::Bytes bytes{};
  const std::span<std::byte> out{bytes};
  detail::store_little_endian(out, kMagic);
  detail::store_little_endian(out.subspan(4), beat.slot);
  detail::store_little_endian(out.subspan(8), beat.number);
  detail::store_little_endian(out.subspan(16), wire_ms(beat.said.interval));
  detail::store_little_endian(out.subspan(20), wire_ms(beat.said.deaf));
  detail::store_little_endian(out.subspan(24), (beat.sees ? kSees : 0U) | (beat.is_seen ? kIsSeen : 0U));
  const auto proof = prove(out, key);
  std::ranges::copy(std::as_bytes(std::span{proof}), out.begin() + kProofAt);
  return bytes;
}

std::optional<Beat> decode_beat(std::span<const std::byte> bytes) {
  if (bytes.size() != Beat::kBytes || detail::load_little_endian<std::uint32_t>(bytes) != kMagic) return std::nullopt;
  const auto ms_at = [bytes](std::size_t offset) {
    return std::chrono::milliseconds{detail::load_little_endian<std::uint32_t>(bytes.subspan(offset))};
  };
  const auto flags = detail::load_little_endian<std::uint32_t>(bytes.subspan(24));
  return Beat{.slot = detail::load_little_endian<std::uint32_t>(bytes.subspan(4)),
              .number = detail::load_little_endian<std::uint64_t>(bytes.subspan(8)),
              .said = {.interval = ms_at(16), .deaf = ms_at(20)},
              .sees = (flags & kSees) != 0,
              .is_seen = (flags & kIsSeen) != 0};
}

bool is_proved(std::span<const std::byte> beat, const PulseKey& key) {
  const auto expected = prove(beat, key);
  return sodium_memcmp(expected.data(), beat.data() + kProofAt, kProofBytes) == 0;
}

}  // namespace troupe
