// Receives the packets of all rings that a node reads.
//
// Receiving is a role that one thread has at a time: the receiver's own, one that waits for an answer, or an idle one
// of the pool, which then runs the function that a message calls. So neither an answer nor a call wakes a second
// thread. While no thread has the role, a bell wakes the idle thread if there is one, otherwise the own thread, which
// thus receives while the pool's threads run functions.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "actors/clock.h"
#include "actors/core/wait_point.h"
#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"
#include "node/links/shared_memory/doorbell.h"
#include "node/links/shared_memory/receiving_role.h"
#include "node/links/shared_memory/ring.h"
#include "node/links/shared_memory/spin.h"

namespace troupe::detail {

/// Its thread starts with the first ring and sleeps while no peer sends. Rings that have packets take turns.
/// Thread rule: any thread may call any member, unless it says otherwise.
class RingReceiver final : public WaitingWork {
 public:
  /// Called by the thread that receives, and by one that calls remove(). They do not block.
  struct Callbacks {
    std::function<void(const NodeName& from, Incarnation incarnation, Frames packet)> packet;
    /// There is no memory for a packet: it is lost.
    std::function<void()> lost;
    /// The peer's bytes are impossible; its ring is not read any more. It keeps its bell until remove().
    std::function<void(const NodeName& from)> broken;
    /// `packet` threw: nothing more is received.
    std::function<void(const Error& why)> failed;
  };
  struct Options {
    /// After this time without a bell it looks at its rings, and an idle thread for its signal: a peer that dies or
    /// writes wrong bytes can lose bells and wake-ups.
    std::chrono::milliseconds sleep_max{200};
    bool spins = true;  ///< threads look for a moment before they sleep (spin.h), if there are several processors
  };
  explicit RingReceiver(Callbacks callbacks) : RingReceiver(std::move(callbacks), Options()) {}
  RingReceiver(Callbacks callbacks, Options options);

  /// REQUIRES: stop() was called, if a ring was ever added.
  ~RingReceiver() override = default;
  RingReceiver(const RingReceiver&) = delete;
  RingReceiver& operator=(const RingReceiver&) = delete;

  /// What a peer needs in order to ring: the doorbell, and the number of its bell.
  struct Place {
    int doorbell = -1;  ///< a descriptor, open while this object exists
    std::uint32_t bell = 0;
  };
  /// Takes a ring, which is read as far as allow() says. Errors: resource_exhausted (memory, threads, bells),
  /// shutting_down.
  [[nodiscard]] Result<Place> add(const NodeName& from, Incarnation incarnation, std::shared_ptr<const Mapping> ring);

  /// The ring may be read to the end of run `run`: all packets before it were delivered.
  void allow(std::uint32_t bell, std::uint32_t run);
  /// Delivers what the ring has of the runs that may be read. Not to be called within a callback.
  void drain(std::uint32_t bell);

  /// Reads the ring no more, but for the packet under way: what lies in it is lost. Never waits. Its bell is kept until
  /// remove().
  void close(std::uint32_t bell);

  /// Delivers what the ring has, then ends it: no callback for it is running or will follow. Not to be
  /// called within a callback.
  void remove(std::uint32_t bell);

  /// Receives until `point` is signalled; nullopt if another thread receives, or there are no rings.
  std::optional<bool> work_until(WaitPoint& point, std::optional<TimePoint> due) override;
  std::optional<bool> work_while_idle(WaitPoint& point) override;

  /// Reads no ring any longer: no callback is running or will follow. Not to be called within a callback.
  void stop();

 private:
  struct Incoming {
    NodeName from;
    Incarnation incarnation;
    RingReader reader;                          ///< used by the thread that has set `serving_`
    std::uint32_t run = 0;                      ///< the last that may be read; guarded by mutex_, as the rest
    bool is_drained = false;                    ///< a thread is in drain()
    std::atomic<bool> is_broken = false;        ///< is not read any more, and keeps its bell until remove(); any thread
    std::optional<TimePoint> waits_since = {};  ///< a packet of a later run is there
  };

  void run();
  [[nodiscard]] bool wait_for_role();
  [[nodiscard]] bool take_role();
  void release_role();
  void open_role();
  void close_role();
  [[nodiscard]] bool is_closed() const;
  [[nodiscard]] bool become_idle();
  void be_idle_no_longer();
  [[nodiscard]] std::optional<bool> receive_while_idle(const WaitPoint& point);
  [[nodiscard]] std::optional<bool> receive_until(const WaitPoint& point, std::optional<TimePoint> due);
  void fail() noexcept;
  [[nodiscard]] bool look(Spin& spin, const WaitPoint& point);
  [[nodiscard]] bool receive_rung();
  void wait_until_served(std::unique_lock<std::mutex>& lock, const Incoming& ring);
  void serve_all();
  void serve(std::uint32_t bell);
  [[nodiscard]] bool finish_serving(std::uint32_t bell, Incoming& ring, RingReader::Took last);
  [[nodiscard]] bool has_waited_for_long(Incoming& ring) const;
  struct Delivered {
    std::size_t packets = 0;
    RingReader::Took last = RingReader::Took::nothing;
  };
  Delivered deliver(Incoming& ring, std::uint32_t run, std::size_t packets);

  const Callbacks callbacks_;
  const std::chrono::milliseconds sleep_max_;
  const bool spins_;
  std::atomic<bool> stopped_ = false;
  std::optional<Doorbell> doorbell_;  ///< set before role_ is opened, then constant

  mutable std::mutex role_mutex_;  ///< held for a few instructions
  ReceivingRole role_;             ///< guarded by role_mutex_
  Spin waiter_spin_;               ///< used by the thread that has the role, as the next
  Spin idle_spin_;

  std::mutex mutex_;
  std::condition_variable served_;
  std::vector<std::shared_ptr<Incoming>> incoming_;  ///< by bell; guarded by mutex_
  const Incoming* serving_ = nullptr;                ///< guarded by mutex_
  std::size_t removing_ = 0;                         ///< threads that wait for `serving_`; guarded by mutex_
  std::thread thread_;                               ///< guarded by mutex_ until stopped_
};

}  // namespace troupe::detail
