// What connects a node to its peers. One interface, several kinds: memory, ZeroMQ, shared memory, simulated.
//
// A link moves frames between nodes that know each other by name and incarnation. It may lose, delay, repeat or
// reorder whole messages around reconnects; the session above it (session.h) repairs that. It never delivers part of a
// message, never delivers one from a peer that has not proved the cluster secret, and never runs user code.
// Frame 0 of what it carries is the session header, the rest is for the layers above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"

namespace troupe {

/// A node as its peers see it.
struct Peer {
  NodeName name{};
  Incarnation incarnation{};
  std::string address{};  ///< where it listens, e.g. "tcp://127.0.0.1:40211"
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// How a peer that is up is heard.
enum class Reach : std::uint8_t {
  unreachable,  ///< silent for longer than it promised: it may come back
  reachable,    ///< heard again after that
  down,         ///< silent for longer than its lease: this node takes it for dead
};

/// What a peer is told when its connection is closed on purpose; its sink hears it in on_link_down.
struct Farewell {
  ErrorCode code = ErrorCode::peer_down;
  std::string message = "disconnected by the peer";  ///< of printable characters, 500 at most
  friend bool operator==(const Farewell&, const Farewell&) = default;
};

/// Which of a link's connections a packet takes. What is in one may overtake what is in the other.
enum class LinkLane : std::uint8_t {
  express,  ///< small, and wanted soon
  bulk,     ///< pieces of large messages
};

/// Who a link tells what happened. Called on the link's thread (or, for a memory link, on the sender's): must not block.
class LinkSink {
 public:
  virtual ~LinkSink() = default;

  /// Both directions to `peer` are open and authenticated. Precedes any frames of this incarnation.
  virtual void on_link_up(const Peer& peer) = 0;

  /// A whole message from an authenticated peer.
  virtual void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) = 0;

  /// The connection is gone for good (its process ended, refused us, or `disconnect` was called); `why` says which.
  /// A connection that may come back is not reported: silence is the failure detector's business.
  virtual void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) = 0;

  /// A peer that is up has been silent for so long, or is heard again after so long. Down is told once and ends nothing by
  /// itself: who agrees disconnects.
  virtual void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) = 0;

  /// The link cannot go on: nothing is sent or received any more, all peers see it go.
  virtual void on_link_failed(const Error& why) = 0;

  /// A connection attempt to `address` that has no peer name yet failed for good: wrong secret, other cluster, version.
  virtual void on_connect_failed(std::string_view address, const Error& why) = 0;
};

/// One node's end of the connections to all its peers. Any thread may call any member; none blocks but `stop`.
class Link {
 public:
  virtual ~Link() = default;

  /// Begins to deliver to `sink`, which outlives `stop()`.
  virtual void start(LinkSink& sink) = 0;

  /// Where peers can reach this node; known before `start`.
  [[nodiscard]] virtual std::string address() const = 0;

  /// Whether bytes cannot change on their way (memory, a unix socket), so that they need no checksum.
  [[nodiscard]] virtual bool guards_bytes() const { return false; }

  /// Whether frames change hands as they are, so that nothing is won by cutting large ones.
  [[nodiscard]] virtual bool shares_memory() const { return false; }

  /// Opens a connection to the node that listens at `address`. Answered by on_link_up or on_connect_failed. Idempotent.
  virtual void connect(std::string_view address) = 0;

  /// Sends one packet. What is for a peer that is not up is dropped: the session resends.
  virtual void send(const NodeName& to, LinkLane lane, Frames packet) = 0;

  /// Closes the connection to `peer` and tells it why; answered by on_link_down.
  virtual void disconnect(const NodeName& peer, const Farewell& farewell) = 0;

  /// Closes everything; returns within 2 s, no call to the sink is under way or will follow.
  virtual void stop() = 0;
};

}  // namespace troupe
