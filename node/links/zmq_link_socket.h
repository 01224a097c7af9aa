// ZeroMQ sockets for the link: whole messages in and out, never blocking, all limits set before bind or connect.
//
// Thread rule: a socket belongs to one thread at a time. Frames may be released on ZeroMQ's own thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "node/keys/key_pair.h"
#include "node/links/ready_set.h"

namespace troupe {

/// ZeroMQ's own thread and the state that its sockets share. REQUIRES: it outlives its sockets.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();  ///< waits until closed sockets have sent their queues, at most their linger time
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;

 private:
  friend class ZmqSocket;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct ZmqSocketLimits {
  std::size_t frame_bytes_max = 0;
  std::size_t frames_max = 0;
  int queue_messages_max = 0;
  Duration handshake_timeout{0};  ///< of ZeroMQ's own protocol
  Duration silence_max{0};        ///< of a TCP connection whose bytes the other host does not confirm; 0: the system's
};

class ZmqSocket {
 public:
  enum class Kind {
    router,          ///< receives from all connections; the first frame of a message names the connection
    dealer,          ///< one connection to one address
    watched_dealer,  ///< a dealer that also reports connection events
  };

  /// Errors: resource_exhausted.
  [[nodiscard]] static Result<ZmqSocket> open(ZmqContext& context, Kind kind, const ZmqSocketLimits& limits);

  ZmqSocket(ZmqSocket&& other) noexcept;
  ZmqSocket& operator=(ZmqSocket&& other) noexcept;
  ~ZmqSocket();  ///< queued messages may still be sent for 0.2 s

  /// Encrypts (CURVE): only clients that know `own`'s public key get in, and a ZAP handler of this context decides
  /// which of their keys do. Errors: resource_exhausted (ZeroMQ lacks CURVE). REQUIRES: before `bind`.
  [[nodiscard]] Result<Unit> secure_as_server(const KeyPair& own);

  /// Encrypts (CURVE): connects to the holder of `server`'s secret key only. Errors: resource_exhausted (ZeroMQ lacks
  /// CURVE). REQUIRES: before `connect`.
  [[nodiscard]] Result<Unit> secure_as_client(const KeyPair& own, const PublicKey& server);

  /// Over unix sockets, closes connections of processes of other users before it reads from them. Errors:
  /// resource_exhausted (ZeroMQ cannot tell users apart here), not_authorized (nor can the kernel: unmapped_user.h).
  /// REQUIRES: before `bind`.
  [[nodiscard]] Result<Unit> admit_own_user_only();

  /// Returns the address with its wildcards resolved. Errors: bad_argument, resource_exhausted (in use).
  [[nodiscard]] Result<std::string> bind(const std::string& address);

  /// Listens at the same address with another pair. Connections that were made stay, those that begin meanwhile wait.
  /// Errors: resource_exhausted. REQUIRES: `secure_as_server`, then `bind`.
  [[nodiscard]] Result<Unit> listen_with(const KeyPair& own);

  /// Connects, and reconnects until it succeeds. Errors: bad_argument.
  [[nodiscard]] Result<Unit> connect(const std::string& address);

  /// Queues one message without copying large frames. Returns false, and takes nothing, if the queue is full or there
  /// is no connection. A message to a closed connection is dropped, and one for which there is no memory, as a whole.
  [[nodiscard]] bool send(const Frames& frames);

  /// Returns the next message that has arrived. Its frames own ZeroMQ's memory. A message with more than frames_max
  /// frames is returned empty.
  [[nodiscard]] std::optional<Frames> receive();

  /// Returns the user to whom the ZAP handler attributed the connection of the message that `receive` returned last.
  /// Empty if no handler judged it. REQUIRES: `secure_as_server`.
  [[nodiscard]] const std::string& user() const;

  /// Returns whether a message has arrived, or, if `to_send`, there is room for one. After false, `tell` reports a
  /// change.
  [[nodiscard]] bool has_news(bool to_send);

  enum class Event {
    connected,
    disconnected,  ///< an existing connection is lost
    refused,       ///< an attempt failed at once: no process listens
    denied,        ///< the ZAP handler of the listener refused this socket's key
    broken_off,    ///< the handshake of ZeroMQ failed otherwise: another key, another protocol, a cut connection
  };

  /// Returns the events of a watched dealer since the last call.
  [[nodiscard]] std::vector<Event> events();

  /// Makes `ready` report `key` when there may be work: a message, an event, or room to send. It reports changes only:
  /// after a send, read until nothing is left before waiting, because a send may consume the report of a message.
  /// Errors: resource_exhausted. REQUIRES: `ready` outlives the socket.
  [[nodiscard]] Result<Unit> tell(ReadySet& ready, ReadySet::Key key);

 private:
  struct Impl;
  explicit ZmqSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
