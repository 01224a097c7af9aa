// The thread that sends and receives heartbeats and judges silence, independent of the process's other threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/error.h"
#include "node/links/datagram_socket.h"
#include "node/links/pulse.h"
#include "node/links/pulse_page.h"
#include "node/links/wake_up.h"

namespace troupe {

/// Owns its sockets. It wakes up when the next beat or verdict is due, not for each received beat: those wait in the
/// sockets and are all read before any peer is judged. Thread rule: any thread may call any member.
class PulseThread {
 public:
  using Order = std::function<void(Pulse& pulse, TimePoint now)>;
  using Tell = std::function<void(const FailureDetector::Event& event)>;
  using Failed = std::function<void(const Error& why)>;

  /// `page`: for peers of this host, or none.
  PulseThread(DatagramSocket socket, FailureDetectorOptions options, std::optional<PulsePage> page = std::nullopt)
      : socket_(std::move(socket)), pulse_(options, std::move(page)) {}
  ~PulseThread() { stop(); }
  PulseThread(const PulseThread&) = delete;
  PulseThread& operator=(const PulseThread&) = delete;

  /// The address for a peer's beats, and the socket of its own behind it; null: the node's socket.
  struct Inbox {
    std::string address;
    std::shared_ptr<DatagramSocket> socket;
  };

  /// Returns the heartbeat address for peers that connect to the link at `advertised`.
  [[nodiscard]] std::string address_beside(std::string_view advertised) const {
    return socket_.address_beside(advertised);
  }

  /// Opens the inbox of the session `slot`. Over unix sockets it has one of its own: they keep so few datagrams that
  /// the beats of some peers would keep out those of others.
  [[nodiscard]] Inbox open_inbox(std::uint32_t slot, std::string_view advertised) const;

  /// As Pulse's. The session's inbox is read until `distrust`.
  void trust(std::uint32_t slot, const NodeName& peer, Incarnation incarnation, const PulseKey& key, Inbox inbox);
  void distrust(std::uint32_t slot);

  /// Starts the thread. `tell` is called on it and must not block. `failed` is called at most once: memory ran out or
  /// the sockets are broken; the thread has ended, no peer is judged, and peers no longer hear this node. Throws
  /// std::system_error if no thread can be started. REQUIRES: called at most once.
  void start(Tell tell, Failed failed);

  /// Executes `order` on the thread, in turn; after `stop` not at all.
  void give(Order order);

  /// Stops the thread. When it returns, neither `tell` nor `failed` is running or will run.
  void stop();

 private:
  void run();
  void serve();
  [[nodiscard]] bool obey();
  void read();
  void read(const DatagramSocket& socket, std::size_t most);
  void beat();
  void wait();

  // The thread; by slot.
  std::unordered_map<std::uint32_t, std::shared_ptr<DatagramSocket>> inboxes_;
  DatagramSocket socket_;          // the thread; its addresses: any
  Pulse pulse_;                    // the thread
  Tell tell_;                      // the thread, once it runs
  Failed failed_;                  // the thread, once it runs
  std::optional<TimePoint> next_;  // the thread
  detail::WakeUp wake_up_;         // any thread
  std::mutex mutex_;
  std::vector<Order> orders_;  // guarded by mutex_
  bool stopped_ = false;       // guarded by mutex_
  std::thread thread_;         // start and stop
};

}  // namespace troupe
