// The connections between simulated nodes: they lose, repeat, delay and reorder messages as the seed decides.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/link.h"
#include "actors/sessions/failure_detector.h"
#include "node/sim/faults.h"
#include "node/sim/schedule.h"

namespace troupe::sim {

/// The shared state of all links of one world: the listening nodes and the open connections.
///
/// A connection opens at both ends at once, is lossy while it lives, and closes at the other end after the messages
/// sent in time have arrived. Messages in transit hold their frames. Heartbeats are separate events: they suffer the
/// same faults, but their absence closes no connection.
class SimNetwork : public std::enable_shared_from_this<SimNetwork> {
 public:
  SimNetwork(std::shared_ptr<Schedule> schedule, LinkFaults faults) : schedule_(std::move(schedule)), faults_(faults) {}

  /// From now on nothing that `from` sends reaches `to`; messages in transit arrive. If `from` closes their connection
  /// meanwhile, `to` learns it when the cut heals.
  void cut(const NodeName& from, const NodeName& to) { cuts_.try_emplace({from, to}); }
  void heal(const NodeName& from, const NodeName& to);

  [[nodiscard]] const WorldCounts& counts() const { return counts_; }

 private:
  friend class SimLink;
  struct Connection;
  struct Endpoint {
    Endpoint(Peer who, FailureDetectorOptions silence)
        : self(std::move(who)), lease(silence.lease), detector(silence) {}

    const Peer self;
    const Duration lease;
    FailureDetector detector;
    std::map<NodeName, std::weak_ptr<Connection>> watched;  // by the detector: the latest with each peer
    std::optional<std::uint64_t> beat;                      // the detector's next event
    LinkSink* sink = nullptr;                               // null before start and after the end
    bool closed = false;
  };
  using End = std::shared_ptr<Endpoint>;

  struct Direction {
    bool open = true;
    std::uint64_t sent = 0;
    std::uint64_t arrived_last = 0;     // the latest sent of those that arrived
    std::array<TimePoint, 2> due_last;  // arrival of the last message of each ordered lane
    TimePoint due_max;                  // arrival of the last message of all
  };
  struct Connection {
    std::array<End, 2> ends;
    std::array<Direction, 2> from;  // from[i]: what ends[i] sends
  };
  struct Message;
  /// How the other end of a connection learns that it is closed.
  enum class Closing : std::uint8_t {
    after_all,  ///< it closes when all messages sent have arrived
    cut,        ///< it closes after a delay; what arrives later is lost
    none,       ///< it does not
  };
  using Pair = std::pair<NodeName, NodeName>;

  void connect(const End& end, const std::string& address);
  void open(const End& end, const std::string& address);
  void send(const End& end, const NodeName& to, LinkLane lane, Frames frames);
  void arrive(Message& message);
  [[nodiscard]] bool is_lost(const NodeName& from, const NodeName& to);
  void beat(const End& end);
  void beat_at(TimePoint due, const End& end);
  void send_beat(const End& end, const FailureDetector::Heartbeat& heartbeat);
  static void forget(const std::shared_ptr<Connection>& connection, std::size_t by);
  static void tell(const End& end, const FailureDetector::Event& event);
  void close(const std::shared_ptr<Connection>& connection, std::size_t by, Closing closing, const Error& why);
  void tell_closed(const std::shared_ptr<Connection>& connection, std::size_t by, Closing closing, const Error& why);
  void disconnect(const End& end, const NodeName& from, const Farewell& farewell);
  void close_all(const End& end, Closing closing);
  [[nodiscard]] std::shared_ptr<Connection> find(const NodeName& a, const NodeName& b) const;

  const std::shared_ptr<Schedule> schedule_;
  const LinkFaults faults_;
  std::map<std::string, End, std::less<>> listening_;  // by address
  std::map<Pair, std::shared_ptr<Connection>> connections_;
  std::map<Pair, std::vector<std::function<void()>>> cuts_;  // by sender and receiver: actions for when it heals
  WorldCounts counts_;
};

/// One node's link. Its address is "sim://<name>". The world's steps call the sink. REQUIRES: the caller holds the
/// baton.
class SimLink final : public Link {
 public:
  SimLink(std::shared_ptr<SimNetwork> network, NodeName name, Incarnation incarnation,
          FailureDetectorOptions silence = {});
  ~SimLink() override;
  SimLink(const SimLink&) = delete;
  SimLink& operator=(const SimLink&) = delete;

  void start(LinkSink& sink) override { end_->sink = &sink; }
  [[nodiscard]] std::string address() const override { return end_->self.address; }
  /// Gives a thread nothing to do, and ends the process if the world does not know the thread.
  [[nodiscard]] std::shared_ptr<detail::WaitingWork> receiving() const override;
  void connect(std::string_view address) override;
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override;
  void stop() override;

  /// Ends it without a farewell of its node.
  void kill(Death death);

 private:
  const std::shared_ptr<SimNetwork> network_;
  const std::shared_ptr<SimNetwork::Endpoint> end_;
};

}  // namespace troupe::sim
