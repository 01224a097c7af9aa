// Accepts the streams of peers and reads them, on a thread of its own.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "actors/clock.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"
#include "node/file_descriptor.h"
#include "node/links/ready_set.h"
#include "node/links/streams/in_stream.h"
#include "node/links/streams/stream_keys.h"
#include "node/links/wake_up.h"
#include "node/port_range.h"
#include "node/spare_descriptor.h"

namespace troupe::detail {

struct StreamReceiverOptions {
  std::string host;                                   ///< to listen at; numeric, "*" for all
  std::optional<PortRange> ports = {};                ///< instead of any free port
  std::uint16_t port_of_first = 0;                    ///< of these, not taken; 0: none
  Duration proof_patience = std::chrono::seconds{2};  ///< for a stranger's preamble
  Duration announced_patience =
      std::chrono::seconds{10};  ///< for a stream that was announced: the opener waits as long
};

/// What strangers may cost is bounded: 64 connections, 32 bytes and two seconds each. Thread rule: any thread may call
/// any member but `remove` and `stop`, which are not called on its own thread.
class StreamReceiver {
 public:
  /// Called on the receiver's thread, without a lock. REQUIRES: they do not block.
  struct Callbacks {
    std::function<void(const NodeLife& from, Frames packet)> arrived;
    std::function<void(std::string_view line)> refused;  ///< a stranger, or bytes that are no record
    std::function<void(const Error& why)> failed;        ///< no stream works any more
  };

  StreamReceiver(StreamReceiverOptions options, Callbacks callbacks);
  ~StreamReceiver() { stop(); }
  StreamReceiver(const StreamReceiver&) = delete;
  StreamReceiver& operator=(const StreamReceiver&) = delete;

  /// Expects a stream of `peer`, whose packets arrive until `remove`. Listens from the first call on. Returns the port.
  /// Errors: resource_exhausted (no port, descriptor or thread; too many streams of this peer are expected already).
  [[nodiscard]] Result<std::uint16_t> expect(const NodeLife& peer, const StreamId& id, const StreamKey& key,
                                             Cipher cipher);

  /// Ends all streams of `peer`. Returns when no packet of it is being delivered; none follows.
  void remove(const NodeLife& peer);

  void stop();

  [[nodiscard]] std::size_t open_streams() const { return open_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t packets() const { return packets_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  /// Numbers the times between an `expect` and the `remove` that ends them: streams of an earlier one deliver nothing.
  using Era = std::uint64_t;
  struct Expected {
    NodeLife peer;
    StreamKey key;
    Cipher cipher = Cipher::none;
    TimePoint until;
  };
  struct Connection {
    InStream stream;
    std::string from;              ///< of a stranger, for the log
    std::optional<NodeLife> peer;  ///< once proved
    Era era = 0;                   ///< of the peer
    TimePoint prove_by;            ///< unless proved
  };
  /// By number, the oldest first.
  using Connections = std::map<ReadySet::Key, Connection>;
  enum class Keep { yes, no };

  [[nodiscard]] Result<Unit> listen();
  void run();
  [[nodiscard]] bool take_orders(TimePoint now);
  void read_connections();
  void read(Connections& those, Connections::iterator at);
  /// Returns the next one.
  Connections::iterator close(Connections& those, Connections::iterator at);
  void accept_strangers(TimePoint now);
  /// Says why in the log.
  void refuse_stranger(Connections::iterator stranger, std::string_view why);
  [[nodiscard]] bool watch_listener();
  /// Closes the next connection, for which no descriptor is free. Returns false if that is not possible either.
  [[nodiscard]] bool turn_away();
  [[nodiscard]] Keep read(Connection& connection);
  [[nodiscard]] Keep prove(Connection& connection, const Preamble& preamble);
  void leave_newest(const NodeLife& peer);
  [[nodiscard]] bool is_current(const Connection& connection) const;
  [[nodiscard]] bool deliver(const Connection& from, Frames packet);
  void refuse(std::string line);

  const StreamReceiverOptions options_;
  const Callbacks callbacks_;
  const WakeUp wake_up_;

  std::mutex mutex_;
  std::condition_variable delivered_;
  std::map<StreamId, Expected> expected_;  ///< guarded by mutex_
  std::map<NodeLife, Era> peers_;          ///< guarded by mutex_; whose packets are delivered
  Era last_era_ = 0;                       ///< guarded by mutex_
  std::optional<NodeLife> delivering_;     ///< guarded by mutex_
  bool stopped_ = false;                   ///< guarded by mutex_
  std::uint16_t port_ = 0;                 ///< guarded by mutex_; 0: not listening
  FileDescriptor listener_;                ///< set before the thread starts, then the thread
  std::thread thread_;                     ///< guarded by mutex_ until stop

  std::optional<ReadySet> ready_;          ///< set before the thread starts, then the thread; of all descriptors
  Connections streams_;                    ///< the thread; proved
  Connections strangers_;                  ///< the thread
  ReadySet::Key last_key_ = 0;             ///< the thread
  bool is_woken_ = false;                  ///< the thread; peers may have been removed
  std::vector<NodeLife> proved_;           ///< the thread; whose streams have just begun
  std::optional<TimePoint> accept_again_;  ///< the thread; there were no descriptors
  SpareDescriptor spare_;                  ///< set before the thread starts, then the thread; to turn connections away

  std::atomic<std::size_t> open_ = 0;
  std::atomic<std::uint64_t> packets_ = 0;
  std::atomic<std::uint64_t> refused_ = 0;
};

}  // namespace troupe::detail
