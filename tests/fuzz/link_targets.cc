// Bytes that a node reads from a connection or a datagram socket, before and after the peer has proved itself.
#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "node/links/beat.h"
#include "node/links/datagram_socket.h"
#include "node/links/handshake.h"
#include "node/links/handshake_wire.h"
#include "node/links/shared_memory/shared_table.h"
#include "node/links/streams/record.h"
#include "node/links/streams/stream_control.h"
#include "node/links/tcp_place.h"
#include "node/links/zap_request.h"
#include "node/links/zmq_link_parts.h"
#include "tests/fuzz/fuzz_target.h"

namespace troupe::fuzz {

namespace {

using handshake::Challenge;
using handshake::ClientProof;
using handshake::Hello;
using handshake::kChecksumBytes;
using handshake::Refused;
using handshake::Welcome;

/// Returns the bytes with the checksum that anybody can compute.
Input with_checksum(Bytes input) {
  Input bytes = input_of(input);
  if (bytes.size() < kChecksumBytes) return bytes;
  const std::size_t at = bytes.size() - kChecksumBytes;
  detail::store_little_endian(std::span(bytes).subspan(at), std::uint64_t{XXH3_64bits(bytes.data(), at)});
  return bytes;
}

Result<handshake::Message> decode_now(Bytes bytes) {
  return handshake::decode(bytes, kProtocolVersionMin, kProtocolVersionMax);
}

/// Returns whether a part of the message is all that is read of it.
bool is_of_other_version(const handshake::Message& message) {
  const auto* hello = std::get_if<Hello>(&message);
  return hello != nullptr && (hello->version_min > kProtocolVersionMax || hello->version_max < kProtocolVersionMin);
}

void handshake_message(Bytes input) {
  (void)decode_now(input);
  const auto message = decode_now(with_checksum(input));
  if (!message.ok() || is_of_other_version(message.value())) return;
  const std::vector<std::byte> again = handshake::encode(message.value());
  const auto decoded = decode_now(again);
  expect(decoded.ok() && handshake::encode(decoded.value()) == again,
         "a message read is a message that can be written");
}

std::vector<Input> handshake_seeds() {
  const Hello hello{.version_min = kProtocolVersionMin,
                    .version_max = kProtocolVersionMax,
                    .name = "trainer0",
                    .address = "tcp://10.0.0.1:4000",
                    .cluster_id = "mnist",
                    .pulse = {.address = "udp://10.0.0.1:4000"}};
  const Challenge challenge{.version = kProtocolVersionMax, .name = "ps", .address = "ipc:///run/user/1/ps"};
  std::vector<Input> seeds;
  for (const handshake::Message& message : std::initializer_list<handshake::Message>{
           hello, challenge, ClientProof{}, Welcome{.slot = 3}, Refused{.code = ErrorCode::name_in_use}}) {
    seeds.push_back(handshake::encode(message));
  }
  seeds.push_back(handshake::encode(Hello{.version_min = 999, .version_max = 1000}));
  return seeds;
}

HandshakeIdentity identity(const char* name, std::uint64_t life) {
  return {.peer = {.name = name, .incarnation = {.high = life, .low = 1}, .address = "tcp://127.0.0.1:1"},
          .cluster_id = "mnist"};
}

/// Messages of a peer that does not know the secret, to both sides of a handshake: no sequence of them is believed.
void handshake_sequence(Bytes input) {
  constexpr std::array<std::byte, ClusterSecret::kBytes> bytes{};
  const auto secret = ClusterSecret::from_bytes(bytes);
  HandshakeServer server(identity("ps", 1), secret, Nonce{});
  HandshakeClient client(identity("trainer", 2), secret, Nonce{std::byte{1}});
  for (const Frame& frame : frames_of(input)) {
    const Input message = with_checksum(frame.bytes);
    expect(!server.take(message).done, "a server believes only who knows the secret");
    expect(!client.take(message).done, "a client believes only who knows the secret");
  }
}

std::vector<Input> sequence_seeds() {
  Frames all;
  for (const Input& message : handshake_seeds()) all.push_back(make_frame(message));
  std::vector<Input> seeds{input_of(all)};
  for (const Frame& frame : all) seeds.push_back(input_of(Frames{frame, frame}));
  return seeds;
}

void beat(Bytes input) {
  const auto decoded = decode_beat(input);
  if (!decoded) return;
  const PulseKey key(std::array<std::byte, PulseKey::kBytes>{});
  expect(!is_proved(input, key) || input_of(Bytes(encode(*decoded, key))) == input_of(input),
         "a proved beat is one that was written");
}

std::vector<Input> beat_seeds() {
  const PulseKey key(std::array<std::byte, PulseKey::kBytes>{});
  return {input_of(Bytes(encode(Beat{.slot = 3, .number = 7, .said = {}}, key)))};
}

void zmq_frame(Bytes input) {
  if (const auto envelope = decode_envelope(input)) {
    expect(input_of(encode(*envelope).bytes) == input_of(input), "an envelope has one form");
  }
  const Farewell farewell = decode_farewell(input);
  expect(farewell.message.size() <= 500, "a farewell is short");
  for (const char c : farewell.message) expect(c >= ' ' && c <= '~', "a farewell can be printed");
}

std::vector<Input> zmq_frame_seeds() {
  return {input_of(encode(ZmqEnvelope{.slot = 3, .token = {}}).bytes),
          input_of(encode(Farewell{.code = ErrorCode::shutting_down, .message = "ps stops"}).bytes)};
}

void zap(Bytes input) {
  const auto request = decode_zap(frames_of(input));
  if (!request) return;
  const Frames answer = encode_zap_answer(*request, std::nullopt);
  expect(text_of(answer.at(4).bytes) == "400", "nobody's request is refused");
}

std::vector<Input> zap_seeds() {
  Frames request;
  for (const std::string& part :
       {std::string("route"), std::string(), std::string("1.0"), std::string("1"), std::string("troupe"),
        std::string("10.0.0.1"), std::string(), std::string("CURVE"), std::string(PublicKey::kBytes, 'k')}) {
    request.push_back(make_frame(input_of(part)));
  }
  Frames without(request.begin(), request.end() - 1);
  without.back() = make_frame(input_of("NULL"));
  return {input_of(request), input_of(without)};
}

void shared_frame(Bytes input) {
  const Frame frame = make_frame(input_of(input));
  if (const auto entries = troupe::detail::decode_shared_table(frame)) {
    const auto again = troupe::detail::decode_shared_table(troupe::detail::encode(*entries));
    expect(again && *again == *entries, "a table read is a table that can be written");
  }
  if (const auto control = troupe::detail::decode_shared_control(frame)) {
    const Frame again = troupe::detail::encode(*control);
    expect(troupe::detail::decode_shared_control(again).has_value(), "a control message read can be written");
  }
  (void)troupe::detail::is_shared_table({frame});
  (void)troupe::detail::is_shared_control({frame});
}

std::vector<Input> shared_frame_seeds() {
  using troupe::detail::SharedControl;
  using troupe::detail::SharedEntry;
  std::vector<Input> seeds;
  seeds.push_back(
      input_of(troupe::detail::encode(
                   {SharedEntry{.frame = 1, .segment = 2, .lease = {}, .offset = 64, .bytes = 4096},
                    SharedEntry{.frame = 2, .memory = SharedEntry::Memory::receivers, .lease = {}, .bytes = 8},
                    SharedEntry{.frame = 3, .memory = SharedEntry::Memory::gpu, .segment = 1, .lease = {}, .gpu = 1}})
                   .bytes));
  for (unsigned kind = 1; kind <= 14; ++kind) {
    seeds.push_back(input_of(troupe::detail::encode(SharedControl{.kind = static_cast<SharedControl::Kind>(kind),
                                                                  .number = kind,
                                                                  .inbox = kind == 1 ? "/run/user/1/inbox" : ""})
                                 .bytes));
  }
  return seeds;
}

void address(Bytes input) {
  const std::string_view text = text_of(input);
  if (const auto place = TcpPlace::parse(text)) {
    const auto again = TcpPlace::parse(place->text());
    expect(again && again->host == place->host && again->port == place->port, "an address read can be written");
  }
  (void)DatagramSocket::parse(text);
}

std::vector<Input> address_seeds() {
  std::vector<Input> seeds;
  for (const char* text : {"tcp://127.0.0.1:4000", "tcp://[::1]:4000", "tcp://*:*", "tcp://node17:65535",
                           "udp://127.0.0.1:4000", "udp://[fe80::1]:7", "unix:///run/user/1/a.pulse", "unix://@a"}) {
    seeds.push_back(input_of(std::string_view(text)));
  }
  return seeds;
}

void stream_control(Bytes input) {
  using troupe::detail::StreamControl;
  const Frame frame = make_frame(input_of(input));
  (void)troupe::detail::is_stream_control({frame});
  const std::optional<StreamControl> control = troupe::detail::decode_stream_control(frame);
  if (!control) return;
  const Frame again = troupe::detail::encode(*control);
  expect(input_of(again.bytes) == input_of(input), "a message about streams has one form");
}

std::vector<Input> stream_control_seeds() {
  using troupe::detail::StreamControl;
  std::vector<Input> seeds;
  for (const StreamControl& control : {StreamControl{.kind = StreamControl::Kind::open, .ciphers = 6},
                                       StreamControl{.kind = StreamControl::Kind::accept, .ciphers = 2, .port = 4000},
                                       StreamControl{.kind = StreamControl::Kind::refuse, .reason = "no port"}}) {
    seeds.push_back(input_of(troupe::detail::encode(control).bytes));
  }
  return seeds;
}

/// The record of a stream that is not encrypted: its head, then its content.
void stream_record(Bytes input) {
  troupe::detail::RecordHead head{};
  if (input.size() < head.size()) return;
  std::ranges::copy(input.first(head.size()), head.begin());
  const std::optional<std::size_t> size = troupe::detail::content_bytes(head);
  const Frame content = make_frame(input_of(input.subspan(head.size())));
  const std::optional<Frames> packet = troupe::detail::frames_of(content);
  if (!packet || size != content.bytes.size()) return;
  expect(troupe::detail::fits_record(*packet), "a packet that came in a record fits one");
  const auto secret = troupe::detail::StreamSecret::from_bytes(std::array<std::byte, 32>{std::byte{1}});
  const auto key = secret.agree(secret.share(), {});
  troupe::detail::RecordCipher none(key.value(), troupe::detail::Cipher::none);
  Input again;
  for (const Frame& part : troupe::detail::record_of(*packet, none))
    again.insert(again.end(), part.bytes.begin(), part.bytes.end());
  expect(again == input_of(input), "a record has one form");
}

std::vector<Input> stream_record_seeds() {
  std::vector<Input> seeds;
  for (const std::vector<std::uint32_t>& fields : std::vector<std::vector<std::uint32_t>>{
           {8, 0, 1, 0}, {16, 0, 2, 4, 0, 7}, {4, 0, 0}, {12, 0, 1, 4, 9}, {12, 0, 0xFFFFFFFF, 4, 9}}) {
    Input bytes(sizeof(std::uint32_t) * fields.size());
    for (std::size_t i = 0; i < fields.size(); ++i)
      troupe::detail::store_little_endian(std::span(bytes).subspan(sizeof(std::uint32_t) * i), fields[i]);
    seeds.push_back(bytes);
  }
  return seeds;
}

}  // namespace

std::vector<Target> link_targets() {
  return {
      {"handshake_message", "node/links/handshake_wire.cc", handshake_message, handshake_seeds, 1024},
      {"handshake_sequence", "node/links/handshake_wire.cc node/links/handshake.cc", handshake_sequence,
       sequence_seeds},
      {"beat", "node/links/beat.cc", beat, beat_seeds, 64},
      {"zmq_frame", "node/links/zmq_link_parts.cc", zmq_frame, zmq_frame_seeds, 1024},
      {"zap", "node/links/zap_request.cc", zap, zap_seeds, 1024},
      {"shared_frame", "node/links/shared_memory/shared_table.cc", shared_frame, shared_frame_seeds},
      {"stream_control", "node/links/streams/stream_control.cc", stream_control, stream_control_seeds, 512},
      {"stream_record", "node/links/streams/record.cc", stream_record, stream_record_seeds, 4096},
      {"address", "node/links/tcp_place.cc node/links/socket_address.cc", address, address_seeds, 256},
  };
}

}  // namespace troupe::fuzz
