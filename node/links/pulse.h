// The heartbeats of a ZeroMQ link: their targets, their proofs, and the consequences of their absence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "node/file_descriptor.h"
#include "node/links/beat.h"
#include "node/links/pulse_page.h"
#include "node/links/socket_address.h"

namespace troupe {

/// A plain class: datagrams and times go in, datagrams and verdicts come out. It knows the sessions from the link's
/// handshakes, so no other sender can keep a dead peer alive.
///
/// A node with a page hands it to the peers on its host, with its first beats. Two nodes stop sending each other beats
/// once each reads the other's page and knows that its own page is read.
/// Thread rule: one thread at a time.
class Pulse {
 public:
  /// `page`: of this node, or none.
  explicit Pulse(FailureDetectorOptions options, std::optional<PulsePage> page = std::nullopt)
      : detector_(options), page_(std::move(page)) {}

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
  void distrust(std::uint32_t slot);

  /// The peer is up: sends it beats, and judges its silence.
  void watch(const NodeName& peer, Incarnation incarnation, Duration lease, TimePoint now) {
    detector_.watch(peer, incarnation, lease, now);
  }
  void forget(const NodeName& peer);

  /// Takes a received datagram without its mark, and the descriptor that came with it. Counts those of unknown sessions
  /// and repeated ones.
  [[nodiscard]] std::optional<FailureDetector::Event> take(std::span<const std::byte> datagram, TimePoint now,
                                                           const detail::FileDescriptor& file = {});

  struct Outgoing {
    SocketAddress to;
    std::array<std::byte, std::tuple_size_v<PulseMark> + Beat::kBytes> bytes{};  ///< the mark, the beat
    int file = -1;  ///< the descriptor that goes with it; -1: none
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
    bool is_seen = false;      // the peer reads this node's page, as its last beat said
    bool owes = false;         // the peer does not know that this node reads its page
    std::uint64_t unseen = 0;  // beats sent since the peer last said that it reads the page
  };
  struct Trusted {
    NodeName peer;
    Incarnation incarnation;
    PulseKey key;
    std::uint64_t last = 0;  // number of the last beat
  };
  /// The page of a peer, which came in the session `slot`.
  struct Seen {
    std::uint32_t slot = 0;
    Incarnation incarnation;
    PeerPulsePage page;
    std::uint32_t count = 0;  // as it was read last
  };

  void learn(const Trusted& from, const Beat& beat, const detail::FileDescriptor& file);
  void read_pages(TimePoint now, std::vector<FailureDetector::Event>& events);
  [[nodiscard]] Outgoing next_beat(const NodeName& peer, Aimed& aimed, const FailureDetector::Said& said) const;

  FailureDetector detector_;
  std::optional<PulsePage> page_;
  std::map<NodeName, Seen> seen_;
  std::map<NodeName, Aimed> aimed_;
  std::unordered_map<std::uint32_t, Trusted> trusted_;  // by slot
  std::uint64_t refused_ = 0;
};

}  // namespace troupe
