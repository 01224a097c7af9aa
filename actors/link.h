// The connections of a node to its peers. One interface, several kinds: memory, ZeroMQ, shared memory, simulated.
//
// A link moves frames between nodes that are identified by name and incarnation. Around reconnects it may lose, delay,
// repeat or reorder whole messages; the session above it (session.h) repairs that. It never delivers a part of a
// message, never delivers a message of a peer that has not proved the cluster secret, and never runs user code. Frame 0
// is the session header; the other frames belong to the layers above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"

namespace troupe {

namespace detail {
class WaitingWork;
}  // namespace detail

/// A node, as its peers know it.
struct Peer {
  NodeName name{};
  Incarnation incarnation{};
  std::string address{};  ///< where the node listens, e.g. "tcp://127.0.0.1:40211"
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// A change in how a live peer is heard.
enum class Reach : std::uint8_t {
  unreachable,  ///< silent for longer than its heartbeats allow; it may return
  reachable,    ///< heard again after unreachable
  down,         ///< silent for longer than its lease: this node considers it dead
};

/// The reason sent to a peer whose connection is closed on purpose; the peer's sink receives it in on_link_down.
struct Farewell {
  ErrorCode code = ErrorCode::peer_down;
  std::string message = "disconnected by the peer";  ///< printable characters, at most 500
  std::optional<Incarnation> life = {};              ///< of the peer that is meant, not sent; nullopt: whichever is up
  friend bool operator==(const Farewell&, const Farewell&) = default;
};

/// The connection that a packet takes. Packets of one lane may overtake those of the other.
enum class LinkLane : std::uint8_t {
  express,  ///< small and urgent packets
  bulk,     ///< pieces of large messages
};

/// Receives a link's events. Called on the link's thread (for a memory link, the sender's). REQUIRES: does not block.
class LinkSink {
 public:
  virtual ~LinkSink() = default;

  /// Both directions to `peer` are open and authenticated. Called before any frames of this incarnation.
  virtual void on_link_up(const Peer& peer) = 0;

  /// A whole message of an authenticated peer has arrived.
  virtual void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) = 0;

  /// The connection is closed for good: the peer's process ended, the peer refused us, or `disconnect` was called;
  /// `why` says which. A connection that may return is not reported: silence is the failure detector's task.
  virtual void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) = 0;

  /// A live peer has been silent for `silence`, or is heard again after it. `down` is reported once and closes nothing:
  /// a receiver that agrees calls disconnect.
  virtual void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) = 0;

  /// The link has failed: it sends and receives nothing more, and all peers lose their connection.
  virtual void on_link_failed(const Error& why) = 0;

  /// A connection attempt to `address`, whose node name is not known yet, failed for good: wrong secret, other cluster,
  /// version.
  virtual void on_connect_failed(std::string_view address, const Error& why) = 0;
};

/// The memory that a node shares with peers on its host, so that large tensors need not travel.
struct SharedMemoryUse {
  std::size_t peers = 0;  ///< with which it can share now
  std::size_t rings = 0;  ///< to peers whose small packets need no socket
  std::size_t segments = 0;
  std::size_t bytes = 0;            ///< of all segments
  std::size_t idle_bytes = 0;       ///< of these, not in use
  std::size_t kept_bytes = 0;       ///< of copies that stay with their tensors, for later sends
  std::size_t gpu_bytes = 0;        ///< of all blocks on GPUs, also of those that peers have not closed yet
  std::size_t leases = 0;           ///< held by peers, also by those that are gone and whose process has not ended
  std::uint64_t tensors = 0;        ///< shared since the start; one for each message that has it
  std::uint64_t bytes_copied = 0;   ///< of these, copied into segments
  std::uint64_t bytes_avoided = 0;  ///< of these, sent without a copy
  std::uint64_t ring_packets = 0;   ///< sent through rings
  std::uint64_t refused = 0;        ///< malformed messages of peers
  friend bool operator==(const SharedMemoryUse&, const SharedMemoryUse&) = default;
};

/// The connections that a node has for large messages alone, one for each direction and peer that has any.
struct StreamUse {
  std::size_t out_streams = 0;  ///< to peers, open now
  std::size_t in_streams = 0;   ///< of peers, open now
  bool encrypted = false;
  std::uint64_t packets_sent = 0;  ///< since the start
  std::uint64_t packets_received = 0;
  std::uint64_t dropped = 0;  ///< beyond a backlog; the session sends them again
  std::uint64_t refused = 0;  ///< strangers, malformed messages and records
  friend bool operator==(const StreamUse&, const StreamUse&) = default;
};

/// How messages to one peer travel.
struct PeerTransport {
  std::string way;  ///< "shared memory + ring", "unix sockets", "tcp + stream, encrypted", "tcp"
  std::string why;  ///< why it is not a faster one; empty if the link has none
  /// Returns "unix sockets (no shared memory: its inbox takes nothing)".
  [[nodiscard]] std::string text() const { return why.empty() ? way : way + " (" + why + ")"; }
  friend bool operator==(const PeerTransport&, const PeerTransport&) = default;
};

/// One node's end of the connections to all its peers. Thread rule: any thread may call any member; only `stop` blocks.
class Link {
 public:
  virtual ~Link() = default;

  /// Starts to deliver to `sink`. REQUIRES: `sink` outlives `stop()`.
  virtual void start(LinkSink& sink) = 0;

  /// Returns the address at which peers reach this node; known before `start`.
  [[nodiscard]] virtual std::string address() const = 0;

  /// Returns true if bytes cannot change on their way (memory, a unix socket), so that frames need no checksum.
  [[nodiscard]] virtual bool guards_bytes() const { return false; }

  /// Returns true if frames are handed over without a copy, also those of GPUs, so that cutting large ones gains
  /// nothing. Frames of GPUs that other links do not lease are copied to the CPU before they are sent.
  [[nodiscard]] virtual bool shares_memory() const { return false; }

  /// Returns how a waiting thread can receive messages; null if only the link's own threads can.
  [[nodiscard]] virtual std::shared_ptr<detail::WaitingWork> receiving() const { return nullptr; }

  /// Returns nullopt if this kind of link shares nothing between processes.
  [[nodiscard]] virtual std::optional<SharedMemoryUse> shared_memory() const { return std::nullopt; }

  /// Returns nullopt if large messages of this link share the connections of small ones.
  [[nodiscard]] virtual std::optional<StreamUse> streams() const { return std::nullopt; }

  /// Returns to the system the shared memory that was unused for `idle`, and asks peers again that have not answered.
  /// Called every few seconds.
  virtual void release_unused(TimePoint now, Duration idle) {
    (void)now;
    (void)idle;
  }

  /// Moves large frames of a message for `to` into memory that `to` maps, where the link can: they become `leased`.
  /// Returns the life of `to` that maps it: only that life may get the message; nullopt: no frame became leased.
  /// Called by the thread that sends, before the message is cut.
  virtual std::optional<Incarnation> share(const NodeName& to, Frames& frames) {
    (void)to;
    (void)frames;
    return std::nullopt;
  }

  /// Opens a connection to the node that listens at `address`. Ends in on_link_up or on_connect_failed. Idempotent.
  virtual void connect(std::string_view address) = 0;

  /// Like `connect`, to a node whose name is known. A link with keys needs the name, and connects only to the owner of
  /// `name`'s key. Other links ask the node for its name.
  virtual void connect_to(const NodeName& name, std::string_view address) {
    (void)name;
    connect(address);
  }

  /// Sends one packet. A packet for a peer that is not up is dropped: the session resends it.
  virtual void send(const NodeName& to, LinkLane lane, Frames packet) = 0;

  /// Closes the connection to `peer` and sends it `farewell`; on_link_down follows. Does nothing if `farewell.life` is
  /// set and another life of the peer is up.
  virtual void disconnect(const NodeName& peer, const Farewell& farewell) = 0;

  /// Closes all connections. Returns within 2 s; then no call to the sink is running or will follow.
  virtual void stop() = 0;

  /// Returns how messages travel now, by peer that is up; empty if all travel alike.
  [[nodiscard]] virtual std::map<NodeName, PeerTransport> transports() const { return {}; }
};

}  // namespace troupe
