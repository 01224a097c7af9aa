// A node that is whole, among peers that are only a router each: they say what the test has them say, and keep what
// they are told. So every word that a node can hear is tried, in any order, also those that no node of ours would say.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "actors/core/lives.h"
#include "actors/core/node_core.h"
#include "actors/executor.h"
#include "actors/sessions/peer_limits.h"
#include "actors/sessions/router.h"
#include "node/links/memory_link.h"
#include "node/node.h"

namespace troupe::testing {

/// Stands still until it is told to go on; timers run on the thread that moves it.
class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  TimerId at(TimePoint due, std::function<void()> action) override;
  void cancel(TimerId timer) override { timers_.erase(timer.value); }

  /// Runs what is due until then, the earliest first.
  void advance(Duration time);

  /// Who asks it next for the time gets no memory for it.
  void fail_next() { fails_next_ = true; }

 private:
  TimePoint now_{std::chrono::hours(1)};
  mutable bool fails_next_ = false;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::pair<TimePoint, std::function<void()>>> timers_;
};

/// Runs jobs when they come, unless the test keeps them back.
class HandPool final : public Executor {
 public:
  [[nodiscard]] std::vector<RunningJob> running() const override { return {}; }
  [[nodiscard]] std::size_t unfinished() const override { return kept.size(); }
  [[nodiscard]] std::vector<RunningJob> stop(TimePoint) override { return {}; }

  bool keeps = false;
  std::optional<Error> refuses = {};  ///< all jobs, with this
  std::vector<Job> kept;

 private:
  [[nodiscard]] std::optional<Error> take(Job& job) override;
};

class BarePeer final : private LinkSink, private detail::Router::Callbacks {
 public:
  struct Heard {
    std::string to;  ///< the actor: "p1/membership"
    RequestId request{};
    msg::AnyMessage message;
  };

  BarePeer(MemoryHub& hub, const NodeName& name, std::uint64_t life);
  ~BarePeer() override;
  BarePeer(const BarePeer&) = delete;
  BarePeer& operator=(const BarePeer&) = delete;

  [[nodiscard]] const Peer& self() const { return self_; }
  [[nodiscard]] NodeLife life() const { return {self_.name, self_.incarnation}; }

  void connect(const NodeName& node) { link_.connect("memory://" + node); }
  void die() { link_.stop(); }

  /// Tells `actor` of that node ("" for the message's own) something.
  void say(const NodeName& node, const std::string& actor, msg::AnyMessage message);

  /// Asks it; what it answers is there once it has.
  std::shared_ptr<std::optional<Result<msg::AnyMessage>>> ask(const NodeName& node, const std::string& actor,
                                                              msg::AnyMessage message,
                                                              std::optional<TimePoint> due = {});

  /// Answers a request that was heard.
  void answer(const NodeName& node, const Heard& request, msg::AnyMessage message);

  /// All messages of that kind that have come, in order; they are forgotten.
  template <class Message>
  std::vector<Message> take() {
    std::vector<Message> taken;
    for (Heard& one : take_heard<Message>()) taken.push_back(std::get<Message>(std::move(one.message)));
    return taken;
  }

  /// The same, with the requests that they are.
  template <class Message>
  std::vector<Heard> take_heard() {
    std::vector<Heard> taken;
    std::erase_if(heard_, [&](Heard& one) {
      if (!std::holds_alternative<Message>(one.message)) return false;
      taken.push_back(std::move(one));
      return true;
    });
    return taken;
  }

  /// How the connection to that node ended: "peer_down connection closed"; nothing while it has not.
  [[nodiscard]] std::optional<std::string> end_of(const NodeName& node) const;

 private:
  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName&, Incarnation, Reach, Duration) override {}
  void on_link_failed(const Error&) override {}
  void on_connect_failed(std::string_view, const Error&) override {}

  void transmit(const NodeName& to, LinkLane lane, Frames packet) override { link_.send(to, lane, std::move(packet)); }
  void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint> due,
               std::shared_ptr<CallCredit> credit) override;
  void came_late(const NodeLife&, msg::AnyMessage) override {}
  void no_memory_for(const NodeLife&, RequestId, Error) override {}
  void answers_taken(const NodeLife&, std::size_t) override {}
  void load_changed(const NodeName&, const detail::PeerLoad&) override {}
  void peer_up(const Peer&) override {}
  void peer_down(const Peer&, const Error&) override {}
  void give_up(const NodeName& peer, const Farewell& farewell) override { link_.disconnect(peer, farewell); }
  void pending_changed(std::size_t) override {}
  void warn(std::string) override {}
  void cancel_soon(RequestId) override {}
  std::function<void()> grant_soon(const NodeLife&) override {
    return [] {};
  }

  [[nodiscard]] static TimePoint now() { return TimePoint{std::chrono::hours(1)}; }

  /// What the node does at once, while the router sends, comes to the router afterwards: as to a router that is an
  /// actor.
  void in_turn(std::function<void()> action);

  const Peer self_;
  MemoryLink link_;
  detail::Lives lives_;
  detail::Router router_;
  std::map<NodeName, NodeLife> up_;
  std::map<NodeName, std::string> ended_;
  std::vector<Heard> heard_;
  std::uint64_t last_request_ = 0;
  std::deque<std::function<void()>> waiting_;
  bool in_turn_ = false;
};

/// The node "m", and whom the test adds. Everything happens on the test's thread, before the call that causes it
/// returns.
struct AmongBarePeers {
  explicit AmongBarePeers(std::optional<std::uint32_t> rank = 0, FunctionRegistry functions = {},
                          const PeerLimits& limits = {});

  /// A peer that is up with the node.
  std::unique_ptr<BarePeer> peer(const NodeName& name, std::uint64_t life = 1);

  [[nodiscard]] detail::NodeCore& core() { return node->core(); }
  [[nodiscard]] NodeLife life() { return {core().name(), core().incarnation()}; }

  MemoryHub hub;
  std::shared_ptr<HandClock> clock = std::make_shared<HandClock>();
  std::shared_ptr<HandPool> pool = std::make_shared<HandPool>();
  std::unique_ptr<Node> node;
};

}  // namespace troupe::testing
