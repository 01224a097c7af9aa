// The thread that sends heartbeats, hears them and judges silence, whatever the rest of the process does.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "node/links/datagram_socket.h"
#include "node/links/pulse.h"
#include "node/links/wake_up.h"

namespace troupe {

/// Owns its socket. It wakes up when the next beat or verdict is due, not for each beat that comes: those wait in the
/// socket and are all read before anybody is judged. Any thread may call any member.
class PulseThread {
 public:
  using Order = std::function<void(Pulse& pulse, TimePoint now)>;
  using Tell = std::function<void(const FailureDetector::Event& event)>;
  using Failed = std::function<void(const Error& why)>;

  PulseThread(DatagramSocket socket, FailureDetectorOptions options) : socket_(std::move(socket)), pulse_(options) {}
  ~PulseThread() { stop(); }
  PulseThread(const PulseThread&) = delete;
  PulseThread& operator=(const PulseThread&) = delete;

  /// As DatagramSocket's.
  [[nodiscard]] std::string address_beside(std::string_view advertised) const { return socket_.address_beside(advertised); }

  /// Begins; `tell` is called on the thread and must not block. `failed`, at most once: the thread found no memory, or
  /// its sockets are broken; it has ended, no peer is judged or told that this node lives. Throws std::system_error if the
  /// system gives no thread. At most once.
  void start(Tell tell, Failed failed);

  /// Carries `order` out on the thread, in turn; after `stop` not at all.
  void give(Order order);

  /// When it returns, neither `tell` nor `failed` is being called or will be.
  void stop();

 private:
  void run();
  void serve();
  [[nodiscard]] bool obey();
  void read();
  void beat();
  void wait();

  DatagramSocket socket_;               // the thread; its address: any
  Pulse pulse_;                         // the thread
  Tell tell_;                           // the thread, once it runs
  Failed failed_;                       // the thread, once it runs
  std::optional<TimePoint> next_;       // the thread
  detail::WakeUp wake_up_;              // any thread
  std::mutex mutex_;
  std::vector<Order> orders_;           // guarded by mutex_
  bool stopped_ = false;                // guarded by mutex_
  std::thread thread_;                  // start and stop
};

}  // namespace troupe
