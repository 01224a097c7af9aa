// Receives all peers' connections: authenticates each, and passes on the messages of authenticated ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "actors/clock.h"
#include "actors/link.h"
#include "node/links/handshake.h"
#include "node/links/zmq_link_parts.h"
#include "node/links/zmq_link_socket.h"

namespace troupe {

/// Used by the link's thread only. Nothing unauthenticated reaches the caller, and here unauthenticated connections
/// cost a bounded amount of memory for a bounded time; what they cost ZeroMQ is in the folder's README.
class ZmqListener {
 public:
  /// `key` is reported by the parts' ready set when there may be work for `next`.
  ZmqListener(ZmqLinkParts& parts, ZmqSocket router, ReadySet::Key key);

  /// A peer proved the secret on `route` and waits for `welcome` or `refuse`.
  struct Proved {
    std::string route;
    Peer peer;
  };
  struct Message {
    NodeName from;
    Incarnation incarnation;
    Frames frames;
  };
  struct Bye {
    NodeName from;
    Incarnation incarnation;
    Farewell farewell;
  };
  using Happened = std::variant<Proved, Message, Bye>;

  /// Reads until an event that the link must know; nullopt: everything was read.
  [[nodiscard]] std::optional<Happened> next(TimePoint now);

  /// Opens a session for the peer that proved itself on `route`. Earlier sessions of it stay valid: messages sent in
  /// them may still arrive.
  void welcome(const std::string& route);

  void refuse(const std::string& route, ErrorCode code);

  /// Ends all sessions of `peer`.
  void forget(const NodeName& peer);

  /// Ends sessions and handshakes of members whose keys are not theirs any more. REQUIRES: this node has keys.
  void forget_former_members();

  /// Listens with the ring's own keys, which have changed, at the same place. Connections that were made stay. Errors:
  /// resource_exhausted. REQUIRES: this node has keys.
  [[nodiscard]] Result<Unit> use_new_keys() { return router_.listen_with(parts_.keys()->own_keys()); }

  /// Drops handshakes that took too long.
  void expire(TimePoint now);

 private:
  struct Pending {
    std::uint32_t slot = 0;  ///< of its session to be
    std::string user;        ///< with keys
    PulseThread::Inbox inbox;
    HandshakeServer handshake;
    TimePoint expires;
  };
  /// A token is valid on one connection only: a reader of unencrypted traffic cannot use it on another one.
  struct Session {
    NodeName peer;
    std::string user;  ///< with keys
    Incarnation incarnation;
    SessionToken token;
    std::string route;  ///< of the handshake
    SessionToken bulk_token;
    std::string bulk_route = {};  ///< of the first message with that token; empty: none came yet
    [[nodiscard]] bool admits(const SessionToken& said, const std::string& from);
  };

  [[nodiscard]] std::optional<Happened> take_words(TimePoint now, const std::string& route, const Frames& message);
  [[nodiscard]] std::optional<Happened> take_message(TimePoint now, const std::string& route, Frames message);
  [[nodiscard]] bool has_user(TimePoint now);
  [[nodiscard]] bool is_still_member(TimePoint now, const std::string& route);
  void refuse_message(TimePoint now, const std::string& route);
  [[nodiscard]] std::map<std::string, Pending>::iterator pending(TimePoint now, const std::string& route);
  void end_session(std::uint32_t slot);
  void answer(const std::string& route, std::vector<std::byte> words);

  ZmqLinkParts& parts_;
  ZmqSocket router_;
  std::map<std::string, Pending> pending_;                ///< by route
  std::unordered_map<std::uint32_t, Session> sessions_;   ///< by slot
  std::map<NodeName, std::vector<std::uint32_t>> slots_;  ///< of each peer, oldest first
  std::uint32_t last_slot_ = 0;
  TimePoint last_refused_message_;
};

}  // namespace troupe
