// The heartbeats of a ZeroMQ link: their targets, their proofs, and the consequences of their absence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "node/links/beat.h"
#include "node/links/socket_address.h"

namespace troupe {

/// A plain class: datagrams and times go in, datagrams and verdicts come out. It knows the sessions from the link's
/// handshakes, so no other sender can keep a dead peer alive. Thread rule: one thread at a time.
class Pulse {
 public:
  explicit Pulse(FailureDetectorOptions options) : detector_(options) {}

  /// The address and the contents of beats to one peer.
  struct Target {
    SocketAddress address;
    std::uint32_t slot = 0;
    PulseKey key;
    PulseMark mark{};
  };

  /// Sends beats for `peer` to `target` from now on, once it is watched. Replaces a target of a lower `number`; one
  /// that arrives after a higher number is late and changes nothing.
  void aim(const NodeName& peer, const Target& target, std::uint64_t number);

  /// Beats with `slot` that are proved with `key` belong to that life.
  void trust(std::uint32_t slot, const NodeName& peer, Incarnation incarnation, const PulseKey& key);
  void distrust(std::uint32_t slot) { trusted_.erase(slot); }

  /// The peer is up: sends it beats, and judges its silence.
  void watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now) {
    detector_.watch(peer, incarnation, lease, now);
  }
  void forget(const NodeName& peer);

  /// Takes a received datagram without its mark. Counts those of
  /// unknown sessions and repeated ones.
  [[nodiscard]] std::optional<FailureDetector::Event> take(std::span<const std::byte> datagram, TimePoint now);

  struct Outgoing {
    SocketAddress to;
    std::array<std::byte, std::tuple_size_v<PulseMark> + Beat::kBytes> bytes{};  ///< the mark, the beat
  };
  struct Due {
    std::vector<FailureDetector::Event> events;
    std::vector<Outgoing> beats;    ///< to send now
    std::optional<TimePoint> next;  ///< when to call again; nullopt: no peer is watched
  };

  /// `next` comes before the beats that arrive meanwhile fill a UDP socket. REQUIRES: all datagrams that have arrived
  /// were taken.
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
