// The heartbeats of a ZeroMQ link: to whom they go, whose are believed, and what their absence means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "node/links/beat.h"
#include "node/links/socket_address.h"

namespace troupe {

/// A plain class: datagrams and time come in, datagrams and verdicts go out. Knows the sessions that the link's
/// handshakes made, so nobody else can keep a dead peer alive. Thread rule: one thread at a time.
class Pulse {
 public:
  explicit Pulse(FailureDetectorOptions options) : detector_(options) {}

  /// What beats to one peer carry.
  struct Target {
    SocketAddress address;
    std::uint32_t slot = 0;
    PulseKey key;
  };

  /// From now on `peer` is sent beats at `target`, once it is watched. Replaces what was said before under a lower
  /// `number`; one that comes behind a higher one is late, and changes nothing.
  void aim(const NodeName& peer, const Target& target, std::uint64_t number);

  /// Beats that carry `slot` and are proved with `key` are that life's.
  void trust(std::uint32_t slot, const NodeName& peer, Incarnation incarnation, const PulseKey& key);
  void distrust(std::uint32_t slot) { trusted_.erase(slot); }

  /// The peer is up: beats go out, and its silence is judged.
  void watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now) {
    detector_.watch(peer, incarnation, lease, now);
  }
  void forget(const NodeName& peer);

  /// Takes what came. Counts what is nobody's, or was seen before.
  [[nodiscard]] std::optional<FailureDetector::Event> take(std::span<const std::byte> datagram, TimePoint now);

  struct Outgoing {
    SocketAddress to;
    Beat::Bytes bytes;
  };
  struct Due {
    std::vector<FailureDetector::Event> events;
    std::vector<Outgoing> beats;    ///< to send now
    std::optional<TimePoint> next;  ///< when to call again; none: nobody is watched
  };

  /// Requires that everything that had arrived was taken.
  [[nodiscard]] Due tick(TimePoint now);

  [[nodiscard]] std::uint64_t refused() const { return refused_; }

 private:
  struct Aimed {
    Target target;
    std::uint64_t number = 0;
    std::uint64_t sent = 0;
  };
  struct Trusted {
    NodeName peer;
    Incarnation incarnation;
    PulseKey key;
    std::uint64_t last = 0;  // number of the last beat
  };

  FailureDetector detector_;
  std::map<NodeName, Aimed> aimed_;
  std::unordered_map<std::uint32_t, Trusted> trusted_;  // by slot
  std::uint64_t refused_ = 0;
};

}  // namespace troupe
