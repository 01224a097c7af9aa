// How two nodes prove to each other that they know the cluster secret, before anything else is read.
//
//   connecting node (client)                         listening node (server)
//     hello      versions, cluster, who, nonce  ->
//                                               <-   challenge  version, who, nonce, proof of the server
//     proof      proof of the client            ->
//                                               <-   welcome    slot, proof
//   Either side may answer `refused` with a code instead. A proof is HMAC-SHA-512-256 under the secret over a label and
//   the messages of both sides so far, so no part can be replayed, reflected or changed; both derive the same session
//   token from it, which is never sent before it is used. Layouts: handshake_wire.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "actors/link.h"
#include "messages/error.h"
#include "messages/ids.h"
#include "node/links/beat.h"
#include "node/links/handshake_wire.h"
#include "node/links/secret.h"
#include "node/node_name.h"

namespace troupe {

/// The protocol versions that this build supports.
inline constexpr std::uint16_t kProtocolVersionMin = 15;
inline constexpr std::uint16_t kProtocolVersionMax = 15;

/// A node's description of itself.
struct HandshakeIdentity {
  Peer peer;
  std::string cluster_id;
  handshake::PulseInfo pulse{};
  std::uint16_t version_min = kProtocolVersionMin;
  std::uint16_t version_max = kProtocolVersionMax;
};

using handshake::Nonce;

[[nodiscard]] Nonce random_nonce();

/// Proves on every message that it belongs to an authenticated session. Compared in constant time; no operator==.
class SessionToken {
 public:
  static constexpr std::size_t kBytes = 8;
  SessionToken() = default;
  explicit SessionToken(std::span<const std::byte, kBytes> bytes);
  [[nodiscard]] bool matches(std::span<const std::byte, kBytes> bytes) const;
  [[nodiscard]] std::span<const std::byte, kBytes> bytes() const { return bytes_; }

 private:
  std::array<std::byte, kBytes> bytes_{};
};

/// The result of a successful handshake, for one side.
struct Authenticated {
  Peer peer;
  std::uint16_t version = 0;
  std::uint32_t slot = 0;  ///< the server's key of the session
  SessionToken token;
  SessionToken bulk_token;       ///< of the separate connection for large messages
  handshake::PulseInfo pulse{};  ///< the peer's
  PulseKey pulse_key;            ///< of the heartbeats from the client to the server
  PulseMark pulse_mark{};        ///< of all heartbeats to the peer
};

/// Returns the mark of heartbeats to that life of a node of the cluster. It is not sent before it is used. It keeps out
/// senders that neither know the secret nor can read the traffic.
[[nodiscard]] PulseMark pulse_mark_of(const ClusterSecret& secret, const NodeName& node, Incarnation incarnation);

/// The next action after a received message.
struct HandshakeStep {
  std::vector<std::byte> reply;       ///< to be sent, if not empty
  std::optional<Authenticated> done;  ///< the other side has proved its identity
  std::optional<Error> failed;        ///< this handshake is over
};

/// The connecting side. A plain class; one thread at a time.
class HandshakeClient {
 public:
  /// `server` is the name to which the other side's key belongs; nullopt: the connection has no keys.
  HandshakeClient(HandshakeIdentity self, ClusterSecret secret, Nonce nonce,
                  std::optional<NodeName> server = std::nullopt);

  [[nodiscard]] std::span<const std::byte> hello() const { return hello_; }

  /// Handles challenge, welcome or refused. Errors: auth_failed, version_mismatch, not_joined (other cluster),
  /// name_in_use, invalid_name, not_authorized (a name with another key), decode, protocol_violation (out of turn),
  /// resource_exhausted, shutting_down. They name the peer if it is known, and never contain bytes of the secret or a
  /// proof.
  [[nodiscard]] HandshakeStep take(std::span<const std::byte> message);

 private:
  [[nodiscard]] HandshakeStep take_challenge(const handshake::Challenge& challenge, std::span<const std::byte> message);
  [[nodiscard]] HandshakeStep take_welcome(const handshake::Welcome& welcome);
  [[nodiscard]] HandshakeStep take_refused(const handshake::Refused& refused);
  [[nodiscard]] HandshakeStep fail(ErrorCode code, std::string message);

  const HandshakeIdentity self_;
  const ClusterSecret secret_;
  const Nonce nonce_;
  const std::optional<NodeName> server_;
  const std::vector<std::byte> hello_;
  std::vector<std::byte> transcript_;           ///< hello and challenge once the latter is accepted
  std::optional<Authenticated> authenticated_;  ///< the server, once its challenge is accepted
  bool over_ = false;
};

/// The listening side, one per connection. A plain class; one thread at a time.
class HandshakeServer {
 public:
  /// `client` is the name to which the other side's key belongs; nullopt: the connection has no keys.
  HandshakeServer(HandshakeIdentity self, ClusterSecret secret, Nonce nonce,
                  std::optional<NodeName> client = std::nullopt);

  /// Handles hello, proof or refused. After `done` the caller decides: `welcome` or `refuse`. Errors as
  /// HandshakeClient::take; `reply` then informs the client.
  [[nodiscard]] HandshakeStep take(std::span<const std::byte> message);

  /// Returns the message for the client, and the session's token. The server chooses `slot`. REQUIRES: `done`.
  struct Welcome {
    std::vector<std::byte> message;
    Authenticated session;
  };
  [[nodiscard]] Welcome welcome(std::uint32_t slot) const;

  /// Returns the message that refuses the client, with `code`.
  [[nodiscard]] std::vector<std::byte> refuse(ErrorCode code) const;

 private:
  [[nodiscard]] HandshakeStep take_hello(const handshake::Hello& hello, std::span<const std::byte> message);
  [[nodiscard]] HandshakeStep take_proof(const handshake::ClientProof& proof);
  [[nodiscard]] HandshakeStep fail(ErrorCode code, std::string message);

  const HandshakeIdentity self_;
  const ClusterSecret secret_;
  const Nonce nonce_;
  const std::optional<NodeName> client_;
  std::vector<std::byte> transcript_;           ///< hello and challenge once the former is accepted
  std::optional<Authenticated> authenticated_;  ///< the client's claim; proved once `proved_`
  bool proved_ = false;
  bool over_ = false;
};

/// Returns a message `refused`, for a connection without a handshake.
[[nodiscard]] std::vector<std::byte> handshake_refusal(ErrorCode code);

}  // namespace troupe
