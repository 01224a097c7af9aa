// Which peers are up, and the order of events for the sink.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "node/links/zmq_link_parts.h"
#include "node/links/zmq_listener.h"
#include "node/links/zmq_outgoing.h"

namespace troupe {

/// The state of a started ZeroMQ link. Only the link's thread uses it, and only that thread calls the sink. Two nodes
/// are up with each other when each has welcomed the other's connection:
///
///   the peer has welcomed our connection, and we have welcomed the peer's  ->  on_link_up
///   the peer's connection arrives first  ->  we connect to the address that it proved
class ZmqLinkCore {
 public:
  struct Connect {
    std::string address;
    NodeName name;  ///< of the node there; empty: unknown
  };
  struct StopConnecting {
    std::string address;
  };
  struct Send {
    NodeName to;
    LinkLane lane = LinkLane::express;
    Frames frames;
  };
  struct Disconnect {
    NodeName peer;
    Farewell farewell;
  };
  /// A report of the pulse's thread.
  using Heard = FailureDetector::Event;
  using Command = std::variant<Connect, StopConnecting, Send, Disconnect, Heard>;

  ZmqLinkCore(ZmqLinkParts& parts, ZmqSocket router, LinkSink& sink);

  void obey(TimePoint now, Command command);

  /// The caller's own key in the parts' ready set; it makes `wait` return.
  static constexpr ReadySet::Key kCaller = 0;

  /// Does all work that needs no waiting, for connections with events only. Returns whether there is more work already.
  [[nodiscard]] bool work(TimePoint now);

  /// Waits until there is work. Returns whether the caller's descriptor is readable.
  bool wait(TimePoint now);

  /// Sends a farewell to all peers and stops calling the sink.
  void close();

 private:
  struct PeerState {
    Peer peer;
    std::string connection;             ///< key in outgoing_
    std::optional<PublicKey> key = {};  ///< with keys
    bool welcomed_here = false;
    bool up = false;
    TimePoint meet_by;          ///< unless it is up by then, it is given up
    Duration lease{0};          ///< its own, once it has welcomed us
    std::vector<Frames> early;  ///< arrived before `up`
    std::size_t early_bytes = 0;
  };
  struct Connection {
    ReadySet::Key key = 0;
    ZmqOutgoing outgoing;
    bool asked = false;                   ///< by `connect`, which is not answered yet
    std::optional<NodeName> behind = {};  ///< the peer whose connection this is, once known
  };
  /// Another address that reached a peer; its own connection is closed.
  struct Alias {
    NodeName peer;
    bool asked = false;  ///< by `connect`, which is not answered yet: the peer is not up
  };
  enum class Keep { nothing, connection };

  void handle(TimePoint now, const Connect& order);
  void handle(TimePoint now, const StopConnecting& order);
  void handle(TimePoint now, Send& order);
  void handle(TimePoint now, const Disconnect& order);
  void handle(TimePoint now, const Heard& event);

  void work_on(TimePoint now, ReadySet::Key key);
  void welcomed(TimePoint now, const std::string& address, const Authenticated& session);
  void aim(const Authenticated& session);
  void failed(TimePoint now, const std::string& address, Error why);
  void handle(TimePoint now, ZmqListener::Proved& proved);
  void handle(TimePoint now, ZmqListener::Message& message);
  void handle(TimePoint now, ZmqListener::Bye& bye);

  [[nodiscard]] PeerState* find(const NodeName& name, Incarnation incarnation);
  [[nodiscard]] PeerState* peer_behind(const std::string& address);
  Connection& connection_to(TimePoint now, const std::string& address, const NodeName& name);
  void close(const std::string& address);
  [[nodiscard]] bool lives(const PeerState& peer) const;
  [[nodiscard]] bool is_asked(const PeerState& peer) const;
  [[nodiscard]] bool make_room(TimePoint now, const Peer& newcomer, const std::string& address);
  void check_up(PeerState& peer);
  void give_up_meeting(TimePoint now);
  void follow_keys(TimePoint now);
  void end_former_members(TimePoint now);
  [[nodiscard]] std::optional<PublicKey> key_of(const NodeName& name) const;
  void drop(const NodeName& name, Error why, Keep keep = Keep::nothing);

  ZmqLinkParts& parts_;
  LinkSink& sink_;
  ZmqListener listener_;
  std::map<std::string, Connection> outgoing_;                ///< by address
  std::unordered_map<ReadySet::Key, std::string> addresses_;  ///< of all in outgoing_
  ReadySet::Key last_key_ = 1;
  std::set<ReadySet::Key> busy_;            ///< have work, or have sent something since they were read
  std::map<ReadySet::Key, TimePoint> due_;  ///< when each has work next
  std::map<std::string, Alias> aliases_;    ///< by address
  std::map<NodeName, PeerState> peers_;
  std::uint64_t keys_version_ = 0;    ///< of the key ring, as sessions were last compared with it
  std::optional<PublicKey> own_key_;  ///< of this node, as it was then
  std::uint64_t aims_ = 0;            ///< numbers pulse targets: a slow lookup may finish after later ones
  std::set<NodeName> meeting_;        ///< peers that are not up
};

}  // namespace troupe
