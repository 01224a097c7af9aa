// Receives the packets of all rings that a node reads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/ring.h"

namespace troupe::detail {

/// One thread, which starts with the first ring and sleeps while no peer sends. Rings that have packets take turns.
/// Thread rule: any thread may call any member, unless it says otherwise.
class RingReceiver {
 public:
  /// Called by the receiving thread, and by one that calls remove(). They do not block.
  struct Callbacks {
    std::function<void(const NodeName& from, Incarnation incarnation, Frames packet)> packet;
    /// There is no memory for a packet: it is lost.
    std::function<void()> lost;
    /// The peer's bytes are impossible; its ring is not read any more.
    std::function<void(const NodeName& from)> broken;
    /// `packet` threw: nothing more is received.
    std::function<void(const Error& why)> failed;
  };
  explicit RingReceiver(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}

  /// REQUIRES: stop() was called, if a ring was ever added.
  ~RingReceiver() = default;
  RingReceiver(const RingReceiver&) = delete;
  RingReceiver& operator=(const RingReceiver&) = delete;

  /// What a peer needs to send: where it rings, and which bell.
  struct Place {
    int doorbell = -1;  ///< a descriptor, open until stop() has returned
    std::uint32_t bell = 0;
  };
  /// Reads a ring from now on. Errors: resource_exhausted (memory, threads, bells), shutting_down.
  [[nodiscard]] Result<Place> add(const NodeName& from, Incarnation incarnation, std::shared_ptr<const Mapping> ring);

  /// Delivers what the ring has, then reads it no longer: no callback for it is running or will follow. Not to be
  /// called within a callback.
  void remove(std::uint32_t bell);

  /// Reads no ring any longer. Not to be called within a callback.
  void stop();

 private:
  struct Incoming {
    NodeName from;
    Incarnation incarnation;
    RingReader reader;  ///< used by the thread that has set `serving_`
  };

  void run();
  void serve_all();
  void serve(std::uint32_t bell);
  /// Delivers at most `packets`. Returns what it met last.
  RingReader::Took deliver(Incoming& ring, std::size_t packets);
  void finish_serving(std::uint32_t bell, RingReader::Took last);

  const Callbacks callbacks_;
  std::mutex mutex_;
  std::condition_variable served_;
  std::shared_ptr<const Doorbell> doorbell_;         ///< made with the first ring, then constant; guarded by mutex_
  std::vector<std::shared_ptr<Incoming>> incoming_;  ///< by bell; guarded by mutex_
  const Incoming* serving_ = nullptr;                ///< guarded by mutex_
  std::size_t removing_ = 0;                         ///< threads that wait for `serving_`; guarded by mutex_
  bool stopped_ = false;                             ///< guarded by mutex_
  std::thread thread_;                               ///< guarded by mutex_ until stopped_
};

}  // namespace troupe::detail
