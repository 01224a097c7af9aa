#include "node/links/streams/stream_control.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::detail {
namespace {

constexpr std::uint32_t kStreamMagic = 0x4F505254;  // "TRPO"
constexpr std::size_t kStreamHead = 64;
constexpr std::size_t kShareAt = 24;
constexpr std::size_t kZeroAt = 56;

bool all_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

bool is_readable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// Returns whether the fields fit the kind.
bool fits_its_kind(const StreamControl& control) {
  switch (control.kind) {
    case StreamControl::Kind::open: return control.ciphers != 0 && control.port == 0 && control.reason.empty();
    case StreamControl::Kind::accept:
      return std::has_single_bit(control.ciphers) && control.port != 0 && control.reason.empty();
    case StreamControl::Kind::refuse:
      return control.ciphers == 0 && control.port == 0 && all_zero(control.share) && is_readable(control.reason);
  }
  return false;
}

}  // namespace

Frame encode(const StreamControl& control) {
  const std::string_view reason = std::string_view(control.reason).substr(0, StreamControl::kReasonMax);
  std::vector<std::byte> bytes(kStreamHead + reason.size());
  const std::span<std::byte> out{bytes};
  store_little_endian(out, kStreamMagic);
  out[4] = static_cast<std::byte>(control.kind);
  out[5] = static_cast<std::byte>(control.ciphers);
  store_little_endian(out.subspan(6), control.port);
  std::ranges::copy(control.id, out.begin() + 8);
  std::ranges::copy(control.share, out.begin() + kShareAt);
  std::ranges::transform(reason, out.begin() + kStreamHead, [](char c) {
    return static_cast<std::byte>(is_readable({&c, 1}) ? c : '?');
  });
  return make_frame(std::move(bytes));
}

bool is_stream_control(const Frames& packet) {
  return packet.size() == 1 && packet.front().bytes.size() >= kStreamHead &&
         load_little_endian<std::uint32_t>(packet.front().bytes) == kStreamMagic;
}

std::optional<StreamControl> decode_stream_control(const Frame& frame) {
  const std::span<const std::byte> bytes = frame.bytes;
  if (bytes.size() < kStreamHead || bytes.size() > kStreamHead + StreamControl::kReasonMax) return std::nullopt;
  if (load_little_endian<std::uint32_t>(bytes) != kStreamMagic) return std::nullopt;
  StreamControl control;
  control.kind = static_cast<StreamControl::Kind>(bytes[4]);
  control.ciphers = static_cast<CipherSet>(bytes[5]);
  control.port = load_little_endian<std::uint16_t>(bytes.subspan(6));
  std::ranges::copy(bytes.subspan(8, control.id.size()), control.id.begin());
  std::ranges::copy(bytes.subspan(kShareAt, control.share.size()), control.share.begin());
  if (!all_zero(bytes.subspan(kZeroAt, kStreamHead - kZeroAt))) return std::nullopt;
  const std::span<const std::byte> reason = bytes.subspan(kStreamHead);
  control.reason.assign(reinterpret_cast<const char*>(reason.data()), reason.size());
  return fits_its_kind(control) ? std::optional(std::move(control)) : std::nullopt;
}

}  // namespace troupe::detail
