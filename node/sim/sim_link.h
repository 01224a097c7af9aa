// The connections between simulated nodes: they lose, repeat, delay and reorder messages as the seed says.
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

/// What all links of one world share: who listens, and which connections are open.
///
/// A connection opens at both ends at once, is lossy as long as it lives, and closes at the other end after what was
/// sent in time has arrived. Messages on the way hold their frames. Heartbeats are events of their own: they suffer as
/// messages do, and no connection closes for their absence.
class SimNetwork : public std::enable_shared_from_this<SimNetwork> {
 public:
  SimNetwork(std::shared_ptr<Schedule> schedule, LinkFaults faults) : schedule_(std::move(schedule)), faults_(faults) {}

  /// From now on nothing that `from` sends reaches `to`; what is on the way arrives. An end of their connection that
  /// `from` makes meanwhile is told when the cut heals, as by the first words that reach it then.
  void cut(const NodeName& from, const NodeName& to) { cuts_.try_emplace({from, to}); }
  void heal(const NodeName& from, const NodeName& to);

  [[nodiscard]] const WorldCounts& counts() const { return counts_; }

 private:
  friend class SimLink;
  struct Endpoint {
    Endpoint(Peer who, FailureDetectorOptions silence) : self(std::move(who)), lease(silence.lease), detector(silence) {}

    const Peer self;
    const Duration lease;
    FailureDetector detector;
    std::optional<std::uint64_t> beat;  // the event that is next for the detector
    LinkSink* sink = nullptr;           // null before start and after the end
    bool closed = false;
  };
  using End = std::shared_ptr<Endpoint>;

  struct Direction {
    bool open = true;
    std::uint64_t sent = 0;
    std::uint64_t arrived_last = 0;  // the latest sent of those that arrived
    std::array<TimePoint, 2> due_last;  // when the last message of each lane that keeps order arrives
    TimePoint due_max;               // when the last message of all arrives
  };
  struct Connection {
    std::array<End, 2> ends;
    std::array<Direction, 2> from;  // from[i]: what ends[i] sends
  };
  struct Message;
  /// How the other end of a connection learns that it has ended.
  enum class Closing : std::uint8_t {
    after_all,  ///< it closes when all that was sent has arrived
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
  std::map<Pair, std::vector<std::function<void()>>> cuts_;  // by sender and receiver: what to do when it heals
  WorldCounts counts_;
};

/// One node's link. Its address is "sim://<name>". The sink is called by the world's steps. For the holder of the
/// baton.
class SimLink final : public Link {
 public:
  SimLink(std::shared_ptr<SimNetwork> network, NodeName name, Incarnation incarnation, FailureDetectorOptions silence = {});
  ~SimLink() override;
  SimLink(const SimLink&) = delete;
  SimLink& operator=(const SimLink&) = delete;

  void start(LinkSink& sink) override { end_->sink = &sink; }
  [[nodiscard]] std::string address() const override { return end_->self.address; }
  void connect(std::string_view address) override;
  void send(const NodeName& to, LinkLane lane, Frames packet) override;
  void disconnect(const NodeName& peer, const Farewell& farewell) override;
  void stop() override;

  /// Ends it without a word from its node.
  void kill(Death death);

 private:
  const std::shared_ptr<SimNetwork> network_;
  const std::shared_ptr<SimNetwork::Endpoint> end_;
};

}  // namespace troupe::sim
