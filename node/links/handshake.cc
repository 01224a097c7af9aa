#include "node/links/handshake.h"

#include <sodium.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "messages/frame.h"

namespace troupe {
namespace {

using handshake::Proof;

// Labels of proofs. Each ends with its terminator, so none is a prefix of another.
constexpr std::string_view kServerLabel{"troupe handshake server\0", 24};
constexpr std::string_view kClientLabel{"troupe handshake client\0", 24};
constexpr std::string_view kWelcomeLabel{"troupe handshake welcome\0", 25};
constexpr std::string_view kTokenLabel{"troupe session token\0", 21};
constexpr std::string_view kBulkTokenLabel{"troupe session bulk token\0", 26};
constexpr std::string_view kPulseLabel{"troupe pulse key\0", 17};

constexpr std::string_view kMarkLabel{"troupe pulse mark\0", 18};

static_assert(crypto_auth_hmacsha512256_KEYBYTES == ClusterSecret::kBytes);
static_assert(crypto_auth_hmacsha512256_BYTES == std::tuple_size_v<Proof>);

const unsigned char* raw(std::span<const std::byte> bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

Proof prove(const ClusterSecret& secret, std::string_view label, std::span<const std::byte> words,
            std::span<const std::byte> more = {}) {
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, raw(secret.bytes()), secret.bytes().size());
  crypto_auth_hmacsha512256_update(&state, reinterpret_cast<const unsigned char*>(label.data()), label.size());
  crypto_auth_hmacsha512256_update(&state, raw(words), words.size());
  crypto_auth_hmacsha512256_update(&state, raw(more), more.size());
  Proof proof;
  crypto_auth_hmacsha512256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  sodium_memzero(&state, sizeof state);
  return proof;
}

bool same(const Proof& left, const Proof& right) { return sodium_memcmp(left.data(), right.data(), left.size()) == 0; }

SessionToken derive_token(const ClusterSecret& secret, std::string_view label, std::span<const std::byte> transcript) {
  const Proof derived = prove(secret, label, transcript);
  return SessionToken(std::span{derived}.first<SessionToken::kBytes>());
}

PulseKey derive_pulse_key(const ClusterSecret& secret, std::span<const std::byte> transcript) {
  const Proof derived = prove(secret, kPulseLabel, transcript);
  return PulseKey(std::span{derived}.first<PulseKey::kBytes>());
}

Proof welcome_proof(const ClusterSecret& secret, std::span<const std::byte> transcript, std::uint32_t slot) {
  std::array<std::byte, sizeof slot> slot_bytes{};
  detail::store_little_endian(std::span<std::byte>{slot_bytes}, slot);
  return prove(secret, kWelcomeLabel, transcript, slot_bytes);
}

/// Returns what the server proves: hello, and the challenge without its last field and its checksum.
std::vector<std::byte> words_before_proof(std::span<const std::byte> hello, std::span<const std::byte> challenge) {
  std::vector<std::byte> words(hello.begin(), hello.end());
  const auto said = challenge.first(challenge.size() - std::tuple_size_v<Proof> - handshake::kChecksumBytes);
  words.insert(words.end(), said.begin(), said.end());
  return words;
}

bool is_valid_address(std::string_view address) {
  return !address.empty() && std::ranges::all_of(address, [](char c) { return c > ' ' && c <= '~'; });
}

std::vector<std::byte> refusal(const HandshakeIdentity& self, ErrorCode code) {
  return handshake::encode(
      handshake::Refused{.code = code, .version_min = self.version_min, .version_max = self.version_max});
}

Error failure(const std::optional<Authenticated>& peer, ErrorCode code, std::string message) {
  Error error{.code = code, .message = std::move(message), .operation = "connect", .execution = Execution::never};
  if (peer) {
    error.peer = peer->peer.name;
    error.incarnation = peer->peer.incarnation;
    error.endpoint = peer->peer.address;
  }
  return error;
}

std::string versions_text(unsigned theirs_min, unsigned theirs_max, const HandshakeIdentity& self) {
  return fmt::format("the peer speaks protocol versions {} to {}, this node {} to {}", theirs_min, theirs_max,
                     self.version_min, self.version_max);
}

}  // namespace

Nonce random_nonce() {
  if (sodium_init() < 0) throw std::runtime_error("libsodium cannot start");
  Nonce nonce;
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

PulseMark pulse_mark_of(const ClusterSecret& secret, const NodeName& node, Incarnation incarnation) {
  std::array<std::byte, 16> life{};
  detail::store_little_endian(std::span<std::byte>{life}, incarnation.high);
  detail::store_little_endian(std::span<std::byte>{life}.subspan(8), incarnation.low);
  const Proof derived = prove(secret, kMarkLabel, life, std::as_bytes(std::span{node}));
  PulseMark mark{};
  std::ranges::copy(std::span{derived}.first<std::tuple_size_v<PulseMark>>(), mark.begin());
  return mark;
}

SessionToken::SessionToken(std::span<const std::byte, kBytes> bytes) { std::ranges::copy(bytes, bytes_.begin()); }

bool SessionToken::matches(std::span<const std::byte, kBytes> bytes) const {
  return sodium_memcmp(bytes_.data(), bytes.data(), kBytes) == 0;
}

HandshakeClient::HandshakeClient(HandshakeIdentity self, ClusterSecret secret, Nonce nonce,
                                 std::optional<NodeName> server)
    : self_(std::move(self)),
      secret_(std::move(secret)),
      nonce_(nonce),
      server_(std::move(server)),
      hello_(handshake::encode(handshake::Hello{.version_min = self_.version_min,
                                                .version_max = self_.version_max,
                                                .nonce = nonce_,
                                                .incarnation = self_.peer.incarnation,
                                                .name = self_.peer.name,
                                                .address = self_.peer.address,
                                                .cluster_id = self_.cluster_id,
                                                .pulse = self_.pulse})) {}

HandshakeStep HandshakeClient::take(std::span<const std::byte> message) {
  if (over_) return fail(ErrorCode::protocol_violation, "handshake message after the handshake");
  const auto decoded = handshake::decode(message, self_.version_min, self_.version_max);
  if (!decoded) return fail(decoded.error().code, decoded.error().message);
  if (const auto* refused = std::get_if<handshake::Refused>(&decoded.value())) return take_refused(*refused);
  if (const auto* challenge = std::get_if<handshake::Challenge>(&decoded.value()); challenge && !authenticated_) {
    return take_challenge(*challenge, message);
  }
  if (const auto* welcome = std::get_if<handshake::Welcome>(&decoded.value()); welcome && authenticated_) {
    return take_welcome(*welcome);
  }
  return fail(ErrorCode::protocol_violation, "handshake message out of turn");
}

HandshakeStep HandshakeClient::take_challenge(const handshake::Challenge& challenge,
                                              std::span<const std::byte> message) {
  if (challenge.version < self_.version_min || challenge.version > self_.version_max) {
    return fail(ErrorCode::version_mismatch, versions_text(challenge.version, challenge.version, self_));
  }
  const Proof expected = prove(secret_, kServerLabel, words_before_proof(hello_, message));
  if (!same(challenge.client_nonce, nonce_) || !same(challenge.proof, expected)) {
    HandshakeStep step = fail(ErrorCode::auth_failed, "the cluster secrets differ");
    step.reply = refusal(self_, ErrorCode::auth_failed);
    return step;
  }
  if (!is_valid_node_name(challenge.name) || !is_valid_address(challenge.address)) {
    return fail(ErrorCode::invalid_name, "the peer has no valid name or address");
  }
  if (server_ && challenge.name != *server_) {
    return fail(ErrorCode::not_authorized, fmt::format("{} calls itself {}", *server_, challenge.name));
  }
  transcript_ = hello_;
  transcript_.insert(transcript_.end(), message.begin(), message.end());
  authenticated_ = Authenticated{
      .peer = {.name = challenge.name, .incarnation = challenge.incarnation, .address = challenge.address},
      .version = challenge.version,
      .slot = 0,
      .token = derive_token(secret_, kTokenLabel, transcript_),
      .bulk_token = derive_token(secret_, kBulkTokenLabel, transcript_),
      .pulse = challenge.pulse,
      .pulse_key = derive_pulse_key(secret_, transcript_),
      .pulse_mark = pulse_mark_of(secret_, challenge.name, challenge.incarnation)};
  return {.reply = handshake::encode(handshake::ClientProof{prove(secret_, kClientLabel, transcript_)}),
          .done = {},
          .failed = {}};
}

HandshakeStep HandshakeClient::take_welcome(const handshake::Welcome& welcome) {
  if (!same(welcome.proof, welcome_proof(secret_, transcript_, welcome.slot))) {
    return fail(ErrorCode::auth_failed, "the peer's welcome is not proved");
  }
  over_ = true;
  authenticated_->slot = welcome.slot;
  return {.reply = {}, .done = authenticated_, .failed = {}};
}

HandshakeStep HandshakeClient::take_refused(const handshake::Refused& refused) {
  switch (refused.code) {
    case ErrorCode::version_mismatch:
      if (refused.version_min <= self_.version_max && refused.version_max >= self_.version_min) {
        return fail(ErrorCode::decode, "the versions in this node's hello were damaged on their way");
      }
      return fail(refused.code, versions_text(refused.version_min, refused.version_max, self_));
    case ErrorCode::auth_failed: return fail(refused.code, "the cluster secrets differ");
    case ErrorCode::not_joined:
      return fail(refused.code, fmt::format("the peer belongs to another cluster than \"{}\"", self_.cluster_id));
    case ErrorCode::name_in_use:
      return fail(refused.code, fmt::format("another node is up under the name {}", self_.peer.name));
    case ErrorCode::not_authorized:
      return fail(refused.code, fmt::format("this node's key is not that of {}", self_.peer.name));
    case ErrorCode::invalid_name: return fail(refused.code, fmt::format("the name is not {}", kNodeNameRule));
    case ErrorCode::resource_exhausted: return fail(refused.code, "the peer has too many connections");
    case ErrorCode::shutting_down: return fail(refused.code, "the peer is stopping");
    case ErrorCode::decode: return fail(refused.code, "the peer could not read the handshake");
    default:
      return fail(ErrorCode::protocol_violation,
                  fmt::format("the peer refused with code {}", static_cast<unsigned>(refused.code)));
  }
}

HandshakeStep HandshakeClient::fail(ErrorCode code, std::string message) {
  over_ = true;
  return {.reply = {}, .done = {}, .failed = failure(authenticated_, code, std::move(message))};
}

HandshakeServer::HandshakeServer(HandshakeIdentity self, ClusterSecret secret, Nonce nonce,
                                 std::optional<NodeName> client)
    : self_(std::move(self)), secret_(std::move(secret)), nonce_(nonce), client_(std::move(client)) {}

HandshakeStep HandshakeServer::take(std::span<const std::byte> message) {
  if (over_ || proved_) return fail(ErrorCode::protocol_violation, "handshake message after the handshake");
  const auto decoded = handshake::decode(message, self_.version_min, self_.version_max);
  if (!decoded) return fail(decoded.error().code, decoded.error().message);
  if (const auto* refused = std::get_if<handshake::Refused>(&decoded.value()); refused && authenticated_) {
    HandshakeStep step = fail(ErrorCode::auth_failed, "the peer refused: the cluster secrets differ");
    step.reply.clear();
    return step;
  }
  if (const auto* hello = std::get_if<handshake::Hello>(&decoded.value()); hello && !authenticated_) {
    return take_hello(*hello, message);
  }
  if (const auto* proof = std::get_if<handshake::ClientProof>(&decoded.value()); proof && authenticated_) {
    return take_proof(*proof);
  }
  return fail(ErrorCode::protocol_violation, "handshake message out of turn");
}

HandshakeStep HandshakeServer::take_hello(const handshake::Hello& hello, std::span<const std::byte> message) {
  const bool is_range = hello.version_min <= hello.version_max;
  if (!is_range || hello.version_min > self_.version_max || hello.version_max < self_.version_min) {
    return fail(ErrorCode::version_mismatch, versions_text(hello.version_min, hello.version_max, self_));
  }
  if (!is_valid_node_name(hello.name))
    return fail(ErrorCode::invalid_name, fmt::format("the name is not {}", kNodeNameRule));
  if (client_ && hello.name != *client_) {
    return fail(ErrorCode::not_authorized, fmt::format("{} calls itself {}", *client_, hello.name));
  }
  if (!is_valid_address(hello.address)) return fail(ErrorCode::decode, "the peer's address is not printable");
  if (hello.cluster_id != self_.cluster_id) {
    return fail(ErrorCode::not_joined,
                fmt::format("{} belongs to another cluster than \"{}\"", hello.name, self_.cluster_id));
  }
  handshake::Challenge challenge{.version = std::min(self_.version_max, hello.version_max),
                                 .client_nonce = hello.nonce,
                                 .nonce = nonce_,
                                 .incarnation = self_.peer.incarnation,
                                 .name = self_.peer.name,
                                 .address = self_.peer.address,
                                 .pulse = self_.pulse};
  challenge.proof = prove(secret_, kServerLabel, words_before_proof(message, handshake::encode(challenge)));
  std::vector<std::byte> reply = handshake::encode(challenge);

  transcript_.assign(message.begin(), message.end());
  transcript_.insert(transcript_.end(), reply.begin(), reply.end());
  authenticated_ =
      Authenticated{.peer = {.name = hello.name, .incarnation = hello.incarnation, .address = hello.address},
                    .version = challenge.version,
                    .slot = 0,
                    .token = derive_token(secret_, kTokenLabel, transcript_),
                    .bulk_token = derive_token(secret_, kBulkTokenLabel, transcript_),
                    .pulse = hello.pulse,
                    .pulse_key = derive_pulse_key(secret_, transcript_),
                    .pulse_mark = pulse_mark_of(secret_, hello.name, hello.incarnation)};
  return {.reply = std::move(reply), .done = {}, .failed = {}};
}

HandshakeStep HandshakeServer::take_proof(const handshake::ClientProof& proof) {
  if (!same(proof.proof, prove(secret_, kClientLabel, transcript_))) {
    return fail(ErrorCode::auth_failed, "the cluster secrets differ");
  }
  proved_ = true;
  return {.reply = {}, .done = authenticated_, .failed = {}};
}

HandshakeStep HandshakeServer::fail(ErrorCode code, std::string message) {
  over_ = true;
  return {.reply = refuse(code), .done = {}, .failed = failure(authenticated_, code, std::move(message))};
}

HandshakeServer::Welcome HandshakeServer::welcome(std::uint32_t slot) const {
  if (!proved_) throw std::logic_error("[handshake] welcome before the peer's proof");
  Authenticated session = *authenticated_;
  session.slot = slot;
  return {.message =
              handshake::encode(handshake::Welcome{.slot = slot, .proof = welcome_proof(secret_, transcript_, slot)}),
          .session = std::move(session)};
}

std::vector<std::byte> HandshakeServer::refuse(ErrorCode code) const { return refusal(self_, code); }

std::vector<std::byte> handshake_refusal(ErrorCode code) { return refusal(HandshakeIdentity{}, code); }

}  // namespace troupe
