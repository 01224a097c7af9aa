#include "node/links/zmq_link_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "messages/frame.h"
#include "node/keys/word_lines.h"

namespace troupe {
namespace {

constexpr std::uint32_t kMagic = 0x4C505254;  // "TRPL"
constexpr std::size_t kFarewellMax = 500;
// Beats are datagrams: they may pass while a firewall has forgotten the connection, whose bytes go nowhere.
constexpr Duration kSilenceMin = std::chrono::seconds{10};
constexpr std::size_t kNodesPerTimeout = 32;  // two cores end about 400 handshakes a second with keys

}  // namespace

void ZmqLinkParts::log_refusal(TimePoint now, std::string_view line) {
  if (options.log && lines_.take(now)) options.log(line);
}

void ZmqLinkParts::audit(AuditEvent event, std::string reason, std::string peer, std::string address) const {
  if (options.audit) options.audit({event, std::move(reason), std::move(peer), std::move(address)});
}

ZmqSocketLimits ZmqLinkParts::limits() const {
  const Duration silence = options.silence.lease;
  return {.frame_bytes_max = options.frame_bytes_max,
          .frames_max = options.frames_max,
          .queue_messages_max = options.queue_messages_max,
          .handshake_timeout = handshake_patience(),
          .silence_max = silence == kEndlessLease ? Duration{0} : std::max(silence, kSilenceMin)};
}

std::size_t ZmqLinkParts::others() const {
  return std::max(options.silence.peers_min, options.keys ? options.keys->size() : 0);
}

Duration ZmqLinkParts::handshake_patience() const {
  return options.handshake_timeout + static_cast<int>(others() / kNodesPerTimeout) * options.handshake_timeout;
}

Duration ZmqLinkParts::meet_patience() const {
  return options.connect_patience + static_cast<int>(others() / AttemptLimit::kPlaces) * options.handshake_timeout;
}

std::string user_of(const KeyRing::Member& member) {
  return fmt::format("{}#{}", member.name, detail::hex_of(member.key.bytes));
}

std::optional<NodeName> member_of(std::string_view user, const KeyRing& ring) {
  const NodeName name(user.substr(0, user.find('#')));
  const std::optional<PublicKey> key = ring.key_of(name);
  return key && user_of({name, *key}) == user ? std::optional(name) : std::nullopt;
}

Frame encode(const ZmqEnvelope& envelope) {
  std::vector<std::byte> bytes(ZmqEnvelope::kBytes);
  const std::span<std::byte> out{bytes};
  detail::store_little_endian(out, kMagic);
  out[4] = static_cast<std::byte>(envelope.kind);
  detail::store_little_endian(out.subspan(8), envelope.slot);
  std::ranges::copy(envelope.token.bytes(), out.begin() + 12);
  return make_frame(std::move(bytes));
}

std::optional<ZmqEnvelope> decode_envelope(std::span<const std::byte> bytes) {
  if (bytes.size() != ZmqEnvelope::kBytes || detail::load_little_endian<std::uint32_t>(bytes) != kMagic) return {};
  const auto kind = static_cast<ZmqEnvelope::Kind>(bytes[4]);
  if (kind != ZmqEnvelope::Kind::message && kind != ZmqEnvelope::Kind::bye) return {};
  if (bytes[5] != std::byte{0} || bytes[6] != std::byte{0} || bytes[7] != std::byte{0}) return {};
  return ZmqEnvelope{.kind = kind,
                     .slot = detail::load_little_endian<std::uint32_t>(bytes.subspan(8)),
                     .token = SessionToken(bytes.subspan<12, SessionToken::kBytes>())};
}

Frame encode(const Farewell& farewell) {
  std::vector<std::byte> bytes(2);
  detail::store_little_endian(std::span<std::byte>{bytes}, static_cast<std::uint16_t>(farewell.code));
  const auto text = std::as_bytes(std::span{farewell.message}).first(std::min(farewell.message.size(), kFarewellMax));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return make_frame(std::move(bytes));
}

Farewell decode_farewell(std::span<const std::byte> bytes) {
  if (bytes.size() < 2 || bytes.size() > 2 + kFarewellMax) return {};
  Farewell farewell;
  farewell.code = static_cast<ErrorCode>(detail::load_little_endian<std::uint16_t>(bytes));
  if (farewell.code != ErrorCode::peer_down && farewell.code != ErrorCode::you_are_dead) return {};
  const auto text = bytes.subspan(2);
  farewell.message.assign(reinterpret_cast<const char*>(text.data()), text.size());
  const bool printable = std::ranges::all_of(farewell.message, [](char c) { return c >= ' ' && c <= '~'; });
  return printable ? farewell : Farewell{};
}

std::size_t size_of(const Frames& frames) {
  std::size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.bytes.size();
  return bytes;
}

}  // namespace troupe
