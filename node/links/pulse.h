// The heartbeats of a ZeroMQ link: their targets, their proofs, and the consequences of their absence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
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
/// A node with a page hands it to the peers on its host: with its first beats over unix sockets, else on the way that
/// `meet` names. Two nodes stop sending each other beats once each reads the other's page and knows that its own page
/// is read. Thread rule: one thread at a time.
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

  /// Takes this node's page to one peer: `page` is its descriptor. Called on the pulse's thread; must not block.
  using GivePage = std::function<void(int page)>;

  /// The peer has proved to be on this host: until `forget`, `give` takes this node's page to it, at first and again
  /// while its beats say that it does not read it. Replaces a former way.
  void meet(const NodeName& peer, GivePage give);

  /// The page of that life of the peer came otherwise than with a beat. It lasts as long as the newest session of that
  /// life; without one, or with a page already, nothing happens.
  void see(const NodeName& peer, Incarnation incarnation, PeerPulsePage page);

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
    std::vector<GivePage> gives;    ///< to call now, with the descriptor of this node's page
    std::optional<TimePoint> next;  ///< when to call again; nullopt: no peer is watched
  };

  /// `next` comes before the beats that arrive meanwhile fill a UDP socket. REQUIRES: all datagrams that have arrived
  /// were taken.
  [[nodiscard]] Due tick(TimePoint now);

  /// Returns the descriptor of this node's page; -1: it has none.
  [[nodiscard]] int page() const { return page_ ? page_->descriptor() : -1; }

  /// Returns how many peers are sent no beats, and send none: each reads the other's page.
  [[nodiscard]] std::size_t by_page() const;

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
    std::uint64_t serial = 0;  // of the session
    std::uint64_t last = 0;    // number of the last beat
  };
  /// The page of a peer, which came in the session `slot`.
  struct Seen {
    std::uint32_t slot = 0;
    Incarnation incarnation;
    PeerPulsePage page;
    std::uint32_t count = 0;  // as it was read last
  };

  void learn(const Trusted& from, const Beat& beat, const detail::FileDescriptor& file);
  void keep(const Trusted& from, std::uint32_t slot, PeerPulsePage page);
  [[nodiscard]] bool is_by_page(const NodeName& peer, const Aimed& aimed) const;
  void read_pages(TimePoint now, std::vector<FailureDetector::Event>& events);
  [[nodiscard]] Outgoing next_beat(const NodeName& peer, Aimed& aimed, const FailureDetector::Said& said) const;
  void give_page(const NodeName& peer, Aimed& aimed, Outgoing& beat, std::vector<GivePage>& gives) const;

  FailureDetector detector_;
  std::optional<PulsePage> page_;
  std::map<NodeName, Seen> seen_;
  std::map<NodeName, Aimed> aimed_;
  std::map<NodeName, GivePage> met_;
  std::unordered_map<std::uint32_t, Trusted> trusted_;  // by slot
  std::uint64_t sessions_ = 0;                          // trusted so far
  std::uint64_t refused_ = 0;
};

}  // namespace troupe
