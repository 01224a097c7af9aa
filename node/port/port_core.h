// The implementation of a port: the rules of port_router.h over a ZeroMQ link, and the threads that run foreign code.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/clock.h"
#include "actors/core/wake_times.h"
#include "actors/executor.h"
#include "actors/link.h"
#include "node/links/zmq_link.h"
#include "node/port.h"
#include "node/port/ending.h"
#include "node/port/port_router.h"

namespace troupe {

/// Orders to the router form a queue. A thread that adds an order (a caller, an answer, the link's or the clock's
/// thread) also works the queue off, unless another thread does so already. So no thread waits for another, no lock is
/// held while the router works, and foreign code does not run there: it goes to one of two pools. Requests have a
/// separate pool, so that any number of them may wait for calls: `done` always finds a thread.
class PortCore final : public std::enable_shared_from_this<PortCore>,
                       private LinkSink,
                       private port::Router::Callbacks {
 public:
  /// Throws as Port does.
  [[nodiscard]] static std::shared_ptr<PortCore> open(Port::Options options);
  ~PortCore() override;
  PortCore(const PortCore&) = delete;
  PortCore& operator=(const PortCore&) = delete;

  /// Returns false in a child process forked later. No member takes a lock there: a lock held at the fork stays held.
  [[nodiscard]] bool is_of_this_process() const { return process_.is_this(); }

  [[nodiscard]] const std::string& address() const { return self_.address; }
  void connect(const std::string& name, const std::string& address);
  void remove(const std::string& name);
  void call(const std::string& peer, std::uint64_t tag, Port::Parts parts, Port::Time deadline, Port::Done done);
  void start(Port::Serve serve);
  void set_fault(std::uint64_t tag, Port::Fault fault);
  [[nodiscard]] Port::Counts counts() const;
  bool stop(Port::Time grace);

 private:
  class Owners;
  class ReturnAddress;
  class Step;
  struct Steps;
  using Order = std::function<void(TimePoint now)>;
  using Orders = std::list<Order>;  ///< an order that is made is given without memory

  /// The process that made the port.
  class Process {
   public:
    [[nodiscard]] bool is_this() const { return ::getpid() == id_; }

   private:
    pid_t id_ = ::getpid();
  };

  /// Foreign code that runs or is queued, and whether the router has sent everything.
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t serving = 0;  // guarded by mutex
    std::size_t ending = 0;   // guarded by mutex
    bool flushed = false;     // guarded by mutex

    /// Counts one more in `count` until the last copy of the result is destroyed.
    [[nodiscard]] static std::shared_ptr<void> begin(std::shared_ptr<Progress> progress, std::size_t Progress::*count);
    [[nodiscard]] bool wait(TimePoint due, std::size_t Progress::*count);
    [[nodiscard]] bool wait_flushed(TimePoint due);
  };

  PortCore(Peer self, const Port::Options& options, std::unique_ptr<ZmqLink> link);

  void give(Order order);
  void give(Orders orders) noexcept;
  void work() noexcept;
  void obey(const Order& order, TimePoint now) noexcept;
  void fail(const Error& why) noexcept;
  void settle(TimePoint now);
  [[nodiscard]] Port::Parts released_later(Port::Parts parts) const;
  void serve_now(port::Request request);
  bool stop_once(TimePoint due);

  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) override;
  void on_connect_failed(std::string_view address, const Error& why) override;
  void on_link_failed(const Error& why) override;

  void connect(const std::string& address) override;
  void stop_connecting(const std::string& address) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override;
  void transmit(const NodeName& to, LinkLane lane, Frames packet) override;
  void serve(port::Request request) override;
  void end(std::shared_ptr<port::Ending> ending, Port::Outcome outcome, port::Body body,
           std::string why) noexcept override;
  void warn(const std::string& line) override;

  const Process process_;
  const Peer self_;
  const std::function<void(const std::string&)> log_;
  const std::shared_ptr<ElasticPool> servers_;
  const std::shared_ptr<ElasticPool> enders_;  ///< runs `done` and the release of owners
  const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  std::atomic<std::uint64_t> started_{0};
  const std::shared_ptr<port::Ending::Count> open_ = std::make_shared<port::Ending::Count>(0);
  std::atomic<std::size_t> fixed_threads_;  ///< without those of the pools
  std::atomic<bool> serving_{false};        ///< start was called
  std::atomic<bool> stopping_{false};       ///< requests are not served any more

  std::mutex orders_mutex_;
  Orders orders_;         // guarded by orders_mutex_
  bool working_ = false;  // guarded by orders_mutex_

  // Used by the thread that works off the orders.
  std::unique_ptr<ZmqLink> link_;  ///< null once stopped
  std::shared_ptr<Clock> clock_;   ///< null once stopped
  const Packing packing_;
  port::Router router_;
  std::shared_ptr<const Port::Serve> serve_;  ///< null before start
  std::vector<port::Request> early_;          ///< arrived before start
  detail::WakeTimes wakes_;
  bool flushing_ = false;

  const std::unique_ptr<Steps> steps_;  ///< of stop

  std::mutex stop_mutex_;
  std::condition_variable stop_done_;
  enum class Stop { no, under_way, clean, late } stop_ = Stop::no;  // guarded by stop_mutex_
};

}  // namespace troupe
