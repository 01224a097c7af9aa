// Encrypts and writes the packets of all outgoing streams of a node, on a thread of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"
#include "node/links/ready_set.h"
#include "node/links/socket_address.h"
#include "node/links/streams/out_stream.h"
#include "node/links/streams/stream_keys.h"
#include "node/links/wake_up.h"

namespace troupe::detail {

struct StreamSenderOptions {
  /// Per stream; more is dropped. Above what sessions grant: packets that wait are parts of messages that live anyway.
  std::size_t backlog_bytes_max = std::size_t{1} << 30;
  std::uint64_t records_max = std::uint64_t{1} << 32;   ///< of one stream, then its key is worn
  std::uint64_t bytes_max = std::uint64_t{1} << 40;     ///< the same
  Duration connect_patience = std::chrono::seconds{5};  ///< for the connection of a stream
  Duration silence_max = std::chrono::seconds{10};      ///< in which nothing that was written is acknowledged
};

/// Thread rule: any thread may call any member; `stop` is not called on its own thread.
class StreamSender {
 public:
  /// A stream that is open no more.
  struct Ended {
    NodeLife peer;
    StreamId id{};
    bool worn = false;         ///< its key has protected as much as it may: another stream takes its place
    bool was_open = false;     ///< false: it never connected
    std::string why;           ///< unless worn
    std::vector<Frames> left;  ///< packets that still waited, in order; sessions send again what was taken
  };

  /// `ended` is called on the sender's thread, or by `open`; `failed`, which says that no stream works any more, on the
  /// sender's thread. No lock is held then.
  StreamSender(const StreamSenderOptions& options, std::function<void(Ended)> ended,
               std::function<void(const Error&)> failed);
  ~StreamSender() { stop(); }
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  /// Opens a stream to `peer`, in the place of an earlier one. Ends in `ended`, unless `close` or `stop` is called.
  /// Throws std::system_error if no thread can be started or no descriptor is free.
  void open(const NodeLife& peer, const StreamId& id, const StreamKey& key, Cipher cipher, const SocketAddress& to);

  /// Sends a packet over the open stream to `peer`. Returns false, and leaves the packet to the caller, if there is
  /// none. A packet beyond the backlog is dropped: the session sends it again.
  [[nodiscard]] bool send(const NodeName& peer, Frames& packet);

  /// Ends the stream to `peer`; packets that wait are dropped.
  void close(const NodeName& peer);

  void stop();

  [[nodiscard]] bool is_open(const NodeName& peer) const;
  [[nodiscard]] std::size_t open_streams() const;
  [[nodiscard]] std::uint64_t packets() const;
  [[nodiscard]] std::uint64_t dropped() const;

 private:
  /// The part of a stream that all threads see.
  struct Lane {
    NodeLife peer;
    StreamId id{};
    ReadySet::Key key = 0;     ///< its number, in the order of `open`
    bool open = false;         // guarded by the sender's mutex_
    bool closed = false;       // guarded by the sender's mutex_
    bool listed = false;       // guarded by the sender's mutex_; in filled_
    std::deque<Frames> queue;  // guarded by the sender's mutex_
    std::size_t bytes = 0;     // guarded by the sender's mutex_; of the queue
  };
  /// The part that the sender's thread has for itself.
  struct Running {
    std::shared_ptr<Lane> lane;
    OutStream stream;
    std::optional<TimePoint> connect_by;  ///< until it is connected
    bool worn = false;
    bool waits_for_room = true;  ///< to be connected, or to write
  };
  using Streams = std::map<ReadySet::Key, Running>;
  enum class Keep { yes, no };

  void run();
  [[nodiscard]] bool take_orders();
  void start(Running fresh);
  void close(Streams::iterator at);
  /// `running` is watched no more.
  void forget(ReadySet::Key key, const Running& running);
  void work();
  void work_on(Streams::iterator at, const ReadySet::Event* event);
  [[nodiscard]] Keep connected(Running& running, const ReadySet::Event* event);
  [[nodiscard]] Keep written(Running& running, const ReadySet::Event* event);
  [[nodiscard]] Keep pump(Running& running);
  [[nodiscard]] std::vector<Frames> take_packets(Lane& lane, std::size_t bytes);
  void end(const Running& running, std::string why);
  void wear_out(Running& running);

  const StreamSenderOptions options_;
  const std::function<void(Ended)> ended_;
  const std::function<void(const Error&)> failed_;
  const WakeUp wake_up_;

  mutable std::mutex mutex_;
  std::map<NodeName, std::shared_ptr<Lane>> lanes_;  ///< guarded by mutex_
  std::vector<Running> fresh_;                       ///< guarded by mutex_; not yet seen by the thread
  std::vector<std::shared_ptr<Lane>> filled_;  ///< guarded by mutex_; have got packets, not yet seen by the thread
  bool closed_any_ = false;                    ///< guarded by mutex_; not yet seen by the thread
  bool waiting_ = false;                       ///< guarded by mutex_; the thread sleeps, or will next
  bool stopped_ = false;                       ///< guarded by mutex_
  std::uint64_t packets_ = 0;                  ///< guarded by mutex_
  std::uint64_t dropped_ = 0;                  ///< guarded by mutex_
  std::thread thread_;                         ///< guarded by mutex_ until stop

  std::optional<ReadySet> ready_;       ///< set before the thread starts, then the thread
  ReadySet::Key last_key_ = 0;          ///< guarded by mutex_
  Streams running_;                     ///< the thread
  std::set<ReadySet::Key> connecting_;  ///< the thread; the first of them gives up first
  std::set<ReadySet::Key> to_do_;       ///< the thread; may have packets that wait, and room
};

}  // namespace troupe::detail
