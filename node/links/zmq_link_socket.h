// ZeroMQ sockets as the link uses them: whole messages in and out, nothing blocks, every limit set before bind or connect.
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
#include "node/links/ready_set.h"

namespace troupe {

/// ZeroMQ's own thread and everything that its sockets share. Outlives its sockets.
class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();  ///< waits until closed sockets have sent what they may, at most their linger time
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
};

class ZmqSocket {
 public:
  enum class Kind {
    router,          ///< receives from everybody; the first frame of a message names the connection
    dealer,          ///< one connection to one address
    watched_dealer,  ///< and tells what happens to it
  };

  /// Errors: resource_exhausted.
  [[nodiscard]] static Result<ZmqSocket> open(ZmqContext& context, Kind kind, const ZmqSocketLimits& limits);

  ZmqSocket(ZmqSocket&& other) noexcept;
  ZmqSocket& operator=(ZmqSocket&& other) noexcept;
  ~ZmqSocket();  ///< what was sent may still leave for a fifth of a second

  /// Returns the address with its wildcards resolved. Errors: bad_argument, resource_exhausted (in use).
  [[nodiscard]] Result<std::string> bind(const std::string& address);

  /// Connects, and connects again until it succeeds. Errors: bad_argument.
  [[nodiscard]] Result<Unit> connect(const std::string& address);

  /// Hands over one message without copying large frames. Returns false when the queue is full or nobody is connected;
  /// then nothing was taken. A message to a connection that is gone is dropped.
  [[nodiscard]] bool send(const Frames& frames);

  /// The next message, if one has arrived. Its frames own ZeroMQ's memory. One with more than frames_max frames is empty.
  [[nodiscard]] std::optional<Frames> receive();

  /// Whether a message has come, or, if `to_send`, there is room for one. Once it says no, `tell` tells.
  [[nodiscard]] bool has_news(bool to_send);

  enum class Event {
    connected,
    disconnected,  ///< the connection was there and is gone
    refused,       ///< an attempt failed at once: nobody listens
  };

  /// What happened to a watched dealer since the last call.
  [[nodiscard]] std::vector<Event> events();

  /// Lets `ready`, which outlives the socket, tell `key` when there may be something to do: a message, an event, room to
  /// send. It tells of news only. Whoever has sent reads before waiting, until there is nothing: a send may take the news
  /// of a message in. Errors: resource_exhausted.
  [[nodiscard]] Result<Unit> tell(ReadySet& ready, ReadySet::Key key);

 private:
  struct Impl;
  explicit ZmqSocket(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace troupe
