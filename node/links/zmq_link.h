// Connects processes over TCP or unix sockets with ZeroMQ; authenticated by the cluster secret.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "messages/error.h"
#include "node/audit/audit_entry.h"
#include "node/keys/key_ring.h"
#include "node/links/secret.h"
#include "node/links/zap_handler.h"
#include "node/port_range.h"

namespace troupe {

class PulseThread;

struct ZmqLinkOptions {
  NodeName name;
  Incarnation incarnation;
  std::string cluster_id;
  ClusterSecret secret = ClusterSecret::random();

  /// "tcp://127.0.0.1:*" (any free port), "ipc:///run/user/1000/troupe/ps0" or "ipc://@name" (abstract, no file).
  std::string bind = "tcp://127.0.0.1:*";
  std::optional<PortRange> ports = {};  ///< instead of any free port, also for the socket of the pulse
  std::uint16_t port_of_first = 0;      ///< of these, not taken: another node will listen there; 0: none
  std::string advertise;                ///< the address told to peers, if not the bound one; port "*": the bound port

  enum class Exposure {
    loopback,  ///< refuses addresses that other machines can reach
    network,   ///< without `keys`, bytes travel unencrypted: for trusted networks only
  };
  Exposure exposure = Exposure::loopback;

  /// All connections are encrypted, and a peer's name is the one that the ring has for its key. TCP only.
  std::optional<KeyRing> keys = {};
  ZapHandler::Rule key_rule = {};  ///< replaces the ring's rule of whose key gets in, for tests; may be empty

  std::size_t frame_bytes_max = std::size_t{4} << 20;    ///< the sender of a longer frame is disconnected; none is sent
  std::size_t frames_max = (std::size_t{1} << 16) + 64;  ///< per message
  int queue_messages_max = 1000;                         ///< per peer and direction, in ZeroMQ
  std::size_t backlog_bytes_max = 64 << 20;              ///< per peer, beyond that queue; more is dropped

  Duration handshake_timeout = std::chrono::seconds{2};
  Duration connect_patience = std::chrono::seconds{10};  ///< how long `connect` tries an address where none listens
  Duration name_patience = std::chrono::seconds{2};      ///< how long it tries while the name is in use

  bool repeats_up = false;  ///< `connect` to a peer that is up ends in another on_link_up; otherwise in nothing

  FailureDetectorOptions silence = {};  ///< the rate of heartbeats, and the judgement of silence
  /// Over unix sockets and with keys: heartbeats to peers that map this node's page are not sent.
  bool pulse_page = true;

  /// Called with one line per refused connection, message or key, on the link's thread and on that of its ZAP handler,
  /// at most five per second on each; may be empty.
  std::function<void(std::string_view line)> log;

  AuditSink audit = {};  ///< told of peers that come, go and are refused, on the same threads, as often as it happens
};

/// Counts since the start, for tests and debug info.
struct ZmqLinkCounts {
  std::uint64_t refused_handshakes = 0;  ///< peers that did not prove the secret, or did not fit
  std::uint64_t refused_keys = 0;        ///< connections whose key no member has
  std::uint64_t refused_messages = 0;    ///< malformed, or from an unauthenticated sender
  std::uint64_t dropped_messages = 0;    ///< to peers that are not up, or beyond the backlog
  std::uint64_t reconnects = 0;
};

/// Two connections per peer and direction: one for small urgent packets, and one for pieces of large messages, made
/// when the first of them is sent. One thread owns all sockets and calls the sink.
///
/// Down is reported when a connection was lost and a new attempt is refused (the process ended), when the name returns
/// as a new incarnation (peer_restarted), and when the peer disconnected. A connection that is merely cut is replaced
/// and not reported.
class ZmqLink final : public Link {
 public:
  /// Binds. Errors: bad_argument (malformed address, an old libzmq), not_authorized (address that other machines can
  /// reach), invalid_name, resource_exhausted (address in use, no descriptors). With keys: bad_argument (not over TCP,
  /// or those of another node), not_authorized (the listener does not refuse a key that no member has).
  [[nodiscard]] static Result<std::unique_ptr<ZmqLink>> open(ZmqLinkOptions options);

  ~ZmqLink() override;
  ZmqLink(const ZmqLink&) = delete;
  ZmqLink& operator=(const ZmqLink&) = delete;

  void start(LinkSink& sink) override;
  [[nodiscard]] std::string address() const override;
  [[nodiscard]] bool guards_bytes() const override;
  void connect(std::string_view address) override;
  void connect_to(const NodeName& name, std::string_view address) override;

  /// Cancels an attempt of `connect`: the sink gets on_connect_failed with code `cancelled`. Does nothing once the
  /// attempt has ended. A peer that has connected by itself meanwhile stays.
  void stop_connecting(std::string_view address);

  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override;

  /// REQUIRES: not called within a call to the sink.
  void stop() override;

  [[nodiscard]] ZmqLinkCounts counts() const;

  /// Returns what judges its peers' silence, for a link above that learns which of them are on this host.
  [[nodiscard]] std::shared_ptr<PulseThread> pulse() const;

 private:
  struct State;
  explicit ZmqLink(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace troupe
