#include "actors/session_header.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "actors/little_endian.h"

namespace troupe {
namespace {

using detail::load_little_endian;
using detail::store_little_endian;

constexpr std::uint32_t kMagic = 0x53505254;  // "TRPS"
constexpr std::size_t kChecksumAt = 64;

std::uint64_t checksum(std::span<const std::byte> header) { return XXH3_64bits(header.data(), kChecksumAt); }

Error failure(ErrorCode code, std::string message) { return Error{.code = code, .message = std::move(message)}; }

}  // namespace

Frame encode(const SessionHeader& header) {
  auto bytes = std::make_shared<std::array<std::byte, SessionHeader::kBytes>>();
  const std::span<std::byte> out{*bytes};
  store_little_endian(out, kMagic);
  out[4] = std::byte{SessionHeader::kVersion};
  out[5] = static_cast<std::byte>(header.kind);
  store_little_endian(out.subspan(8), header.from.high);
  store_little_endian(out.subspan(16), header.from.low);
  store_little_endian(out.subspan(24), header.to.high);
  store_little_endian(out.subspan(32), header.to.low);
  store_little_endian(out.subspan(40), header.number);
  store_little_endian(out.subspan(48), header.ack);
  store_little_endian(out.subspan(56), header.ahead);
  store_little_endian(out.subspan(kChecksumAt), checksum(out));
  return Frame{.bytes = *bytes, .owner = std::move(bytes)};
}

Result<SessionHeader> decode_session_header(std::span<const std::byte> bytes) {
  if (bytes.size() != SessionHeader::kBytes) {
    return failure(ErrorCode::decode,
                   fmt::format("session header of {} bytes, expected {}", bytes.size(), SessionHeader::kBytes));
  }
  if (load_little_endian<std::uint32_t>(bytes) != kMagic) {
    return failure(ErrorCode::decode, "session header without its magic number");
  }
  if (const auto version = std::to_integer<unsigned>(bytes[4]); version != SessionHeader::kVersion) {
    return failure(ErrorCode::version_mismatch,
                   fmt::format("session version {}, expected {}", version, SessionHeader::kVersion));
  }
  if (load_little_endian<std::uint64_t>(bytes.subspan(kChecksumAt)) != checksum(bytes)) {
    return failure(ErrorCode::decode, "session header with a wrong checksum");
  }
  const auto kind = std::to_integer<std::uint8_t>(bytes[5]);
  if (kind < static_cast<std::uint8_t>(SessionKind::data) || kind > static_cast<std::uint8_t>(SessionKind::goodbye)) {
    return failure(ErrorCode::decode, fmt::format("session message of unknown kind {}", kind));
  }
  if (load_little_endian<std::uint16_t>(bytes.subspan(6)) != 0) {
    return failure(ErrorCode::decode, "session header with reserved bytes set");
  }
  const auto number_at = [bytes](std::size_t offset) { return load_little_endian<std::uint64_t>(bytes.subspan(offset)); };
  return SessionHeader{.kind = static_cast<SessionKind>(kind),
                       .from = {.high = number_at(8), .low = number_at(16)},
                       .to = {.high = number_at(24), .low = number_at(32)},
                       .number = number_at(40),
                       .ack = number_at(48),
                       .ahead = number_at(56)};
}

}  // namespace troupe
