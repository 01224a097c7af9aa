#include "actors/sessions/session_header.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe {
namespace {

using detail::load_little_endian;
using detail::store_little_endian;

constexpr std::uint32_t kMagic = 0x53505254;  // "TRPS"
constexpr std::size_t kChecksumAt = 120;

std::uint64_t checksum(std::span<const std::byte> header) { return XXH3_64bits(header.data(), kChecksumAt); }

bool is_session_kind(std::uint8_t kind) {
  switch (static_cast<SessionKind>(kind)) {
    case SessionKind::data:
    case SessionKind::ack:
    case SessionKind::probe:
    case SessionKind::goodbye: return true;
  }
  return false;
}

}  // namespace

Frame encode(const SessionHeader& header) {
  auto bytes = std::make_shared<std::array<std::byte, SessionHeader::kBytes>>();
  const std::span<std::byte> out{*bytes};
  store_little_endian(out, kMagic);
  out[4] = std::byte{SessionHeader::kVersion};
  out[5] = static_cast<std::byte>(header.kind);
  out[6] = static_cast<std::byte>(header.lane);
  out[7] = static_cast<std::byte>(header.part);
  store_little_endian(out.subspan(48), header.bytes_used << 24);
  out[48] = static_cast<std::byte>(header.acked_lane);
  out[49] = static_cast<std::byte>(header.charge);
  out[50] = std::byte{header.riders};
  const std::uint64_t numbers[] = {header.from.high, header.from.low, header.to.high, header.to.low, header.number};
  for (std::size_t i = 0; i < std::size(numbers); ++i) store_little_endian(out.subspan(8 + 8 * i), numbers[i]);
  const std::uint64_t more[] = {
      header.ack,          header.ahead, header.bytes_granted, header.calls_granted, header.nested_granted,
      header.remaining_us, header.after, header.hash};
  for (std::size_t i = 0; i < std::size(more); ++i) store_little_endian(out.subspan(56 + 8 * i), more[i]);
  store_little_endian(out.subspan(kChecksumAt), checksum(out));
  return Frame{.bytes = *bytes, .owner = std::move(bytes)};
}

Result<SessionHeader> decode_session_header(std::span<const std::byte> bytes) {
  if (bytes.size() != SessionHeader::kBytes) {
    return make_error(ErrorCode::decode,
                      fmt::format("session header of {} bytes, expected {}", bytes.size(), SessionHeader::kBytes));
  }
  if (load_little_endian<std::uint32_t>(bytes) != kMagic) {
    return make_error(ErrorCode::decode, "session header without its magic number");
  }
  if (const auto version = std::to_integer<unsigned>(bytes[4]); version != SessionHeader::kVersion) {
    return make_error(ErrorCode::version_mismatch,
                      fmt::format("session version {}, expected {}", version, SessionHeader::kVersion));
  }
  if (load_little_endian<std::uint64_t>(bytes.subspan(kChecksumAt)) != checksum(bytes)) {
    return make_error(ErrorCode::decode, "session header with a wrong checksum");
  }
  const auto kind = std::to_integer<std::uint8_t>(bytes[5]);
  if (!is_session_kind(kind)) {
    return make_error(ErrorCode::decode, fmt::format("session message of unknown kind {}", kind));
  }
  const auto byte_at = [bytes](std::size_t offset) { return std::to_integer<std::uint8_t>(bytes[offset]); };
  const bool known = byte_at(6) < kSessionLanes && byte_at(7) <= static_cast<std::uint8_t>(Part::dropped) &&
                     byte_at(48) < kSessionLanes && byte_at(49) <= static_cast<std::uint8_t>(Charge::nested);
  if (!known) {
    return make_error(ErrorCode::decode, fmt::format("session message in lane {}, part {}, about lane {}, charge {}",
                                                     byte_at(6), byte_at(7), byte_at(48), byte_at(49)));
  }
  const auto number_at = [bytes](std::size_t offset) {
    return load_little_endian<std::uint64_t>(bytes.subspan(offset));
  };
  return SessionHeader{.kind = static_cast<SessionKind>(kind),
                       .lane = static_cast<SessionLane>(byte_at(6)),
                       .part = static_cast<Part>(byte_at(7)),
                       .from = {.high = number_at(8), .low = number_at(16)},
                       .to = {.high = number_at(24), .low = number_at(32)},
                       .number = number_at(40),
                       .acked_lane = static_cast<SessionLane>(byte_at(48)),
                       .ack = number_at(56),
                       .ahead = number_at(64),
                       .bytes_granted = number_at(72),
                       .calls_granted = number_at(80),
                       .nested_granted = number_at(88),
                       .charge = static_cast<Charge>(byte_at(49)),
                       .remaining_us = number_at(96),
                       .after = number_at(104),
                       .riders = byte_at(50),
                       .bytes_used = number_at(48) >> 24,
                       .hash = number_at(112)};
}

bool is_intact(const Frames& packet) {
  if (packet.size() < 2) return true;  // the session reports errors in a header
  const auto header = decode_session_header(packet.front().bytes);
  return !header || header.value().hash == hash_of(std::span(packet).subspan(1));
}

}  // namespace troupe
