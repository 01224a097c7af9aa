// The shared data of a ZeroMQ link's parts: the node's identity, limits, counters, and the envelope of each message.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "actors/link.h"
#include "node/audit/audit_entry.h"
#include "node/links/attempt_limit.h"
#include "node/links/handshake.h"
#include "node/links/line_allowance.h"
#include "node/links/pulse_thread.h"
#include "node/links/ready_set.h"
#include "node/links/zap_handler.h"
#include "node/links/zmq_link.h"
#include "node/links/zmq_link_socket.h"

namespace troupe {

/// Written by the link's thread, read by any.
struct ZmqLinkCounters {
  std::atomic<std::uint64_t> refused_handshakes = 0;
  std::atomic<std::uint64_t> refused_messages = 0;
  std::atomic<std::uint64_t> dropped_messages = 0;
  std::atomic<std::uint64_t> reconnects = 0;
};

/// Data of all parts of one link. Constant once the link is open, except for the counters, the attempts and the log's
/// allowance. Used by the link's thread.
struct ZmqLinkParts {
  explicit ZmqLinkParts(ZmqLinkOptions with) : options(std::move(with)) {}

  /// Logs at most five lines per second.
  void log_refusal(TimePoint now, std::string_view line);

  /// Tells the audit log. Any thread.
  void audit(AuditEvent event, std::string reason, std::string peer = {}, std::string address = {}) const;

  [[nodiscard]] ZmqSocketLimits limits() const;

  /// Returns how long a handshake may take. If a large world starts, its nodes share processors for all handshakes: one
  /// that was broken off too early would only begin anew.
  [[nodiscard]] Duration handshake_patience() const;

  /// Returns how long a peer with which this node is half up has to complete that: its attempt may wait until those to
  /// all others of the world have had a place.
  [[nodiscard]] Duration meet_patience() const;

  /// Returns nullopt without keys: then connections are not encrypted, and peers' names are what they say.
  [[nodiscard]] const std::optional<KeyRing>& keys() const { return options.keys; }

  const ZmqLinkOptions options;
  HandshakeIdentity self;              ///< complete once bound
  std::shared_ptr<PulseThread> pulse;  ///< once bound
  ReadySet ready;                      ///< outlives the sockets that it watches
  ZmqContext context;
  std::unique_ptr<ZapHandler> zap;  ///< with keys; any thread
  ZmqLinkCounters counters;
  AttemptLimit attempts{options.handshake_timeout};

 private:
  /// The number of other nodes in this world, as far as it is known.
  [[nodiscard]] std::size_t others() const;

  LineAllowance lines_;
};

/// The user that the ZAP handler gives a connection, and that ZeroMQ reports with each of its messages: "NAME#KEY", the
/// key in hexadecimal digits.
[[nodiscard]] std::string user_of(const KeyRing::Member& member);

/// Returns the member that is a user; nullopt if `ring` does not have it with this key (any more).
[[nodiscard]] std::optional<NodeName> member_of(std::string_view user, const KeyRing& ring);

/// The first frame of every message that is not part of a handshake. Little-endian:
/// 0 magic "TRPL", 4 kind, 5 zero (3), 8 slot, 12 token (8).
struct ZmqEnvelope {
  static constexpr std::size_t kBytes = 20;
  enum class Kind : std::uint8_t {
    message = 1,
    bye = 2,  ///< the sender closes this connection on purpose; one more frame, a farewell, says why
  };
  Kind kind = Kind::message;
  std::uint32_t slot = 0;
  SessionToken token;
};

[[nodiscard]] Frame encode(const ZmqEnvelope& envelope);

/// Returns nullopt if the bytes are no envelope. Checks no proof: the token must still be compared.
[[nodiscard]] std::optional<ZmqEnvelope> decode_envelope(std::span<const std::byte> bytes);

/// The error code (2, little-endian), then the text.
[[nodiscard]] Frame encode(const Farewell& farewell);

/// Returns the default farewell if the bytes are malformed: unknown code, invalid characters, too long.
[[nodiscard]] Farewell decode_farewell(std::span<const std::byte> bytes);

[[nodiscard]] std::size_t size_of(const Frames& frames);

}  // namespace troupe
