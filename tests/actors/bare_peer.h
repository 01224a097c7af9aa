// A complete node among peers that are only a router each. The peers send what the test tells them, and record what
// they receive. Tests thus send a node every message in any order, also messages that no real node would send.
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
#include <vector>

#include "actors/core/lives.h"
#include "actors/core/node_core.h"
#include "actors/core/wait_point.h"
#include "actors/executor.h"
#include "actors/sessions/peer_limits.h"
#include "actors/sessions/router.h"
#include "node/links/memory_link.h"
#include "node/node.h"

namespace troupe::testing {

/// A clock that moves only when the test advances it. Timers run on the thread that advances it.
class HandClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() const override;
  TimerId at(TimePoint due, std::function<void()> action) override;
  void cancel(TimerId timer) override { timers_.erase(timer.value); }

  /// Runs the timers that are due by then, the earliest first.
  void advance(Duration time);

  /// Returns how many timers have not run.
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }

  /// The next call of now() throws std::bad_alloc.
  void fail_next() { fails_next_ = true; }

 private:
  TimePoint now_{std::chrono::hours(1)};
  mutable bool fails_next_ = false;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, std::pair<TimePoint, std::function<void()>>> timers_;
};

/// Waits of the test's thread. Whatever could end a wait happens on that thread, so a wait ends at once: as if its time
/// had passed if it has a limit. The system's clock, which knows nothing of HandClock's time, is never asked.
class HandWaits final : public detail::BlockingHook {
 public:
  /// Throws std::logic_error if the wait has no limit and would last forever.
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override;
};

/// As HandWaits, but runs an action in the next wait, in which others act.
class ActingWaits final : public detail::BlockingHook {
 public:
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override;
  std::function<void()> action = {};

 private:
  HandWaits waits_;
};

/// Runs jobs at once, unless the test holds them back.
class HandPool final : public Executor {
 public:
  [[nodiscard]] std::vector<RunningJob> running() const override { return {}; }
  [[nodiscard]] std::size_t unfinished() const override { return kept.size(); }
  [[nodiscard]] std::vector<RunningJob> stop(TimePoint) override { return {}; }

  bool keeps = false;
  bool all_wait = false;              ///< as a full pool whose threads all wait: refuses jobs, keeps those `at_once`
  std::optional<Error> refuses = {};  ///< refuses every job with this error
  std::vector<Job> kept;

 private:
  [[nodiscard]] std::optional<Error> take(Job& job) override;
};

class BarePeer final : private LinkSink, private detail::Router::Callbacks {
 public:
  struct Heard {
    std::string to;  ///< the receiving actor: "p1/membership"
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

  /// Sends a notification to `actor` of that node (actor "" is the message's own).
  void say(const NodeName& node, const std::string& actor, msg::AnyMessage message);

  /// Sends a request. The result is set when the answer has arrived.
  std::shared_ptr<std::optional<Result<msg::AnyMessage>>> ask(const NodeName& node, const std::string& actor,
                                                              msg::AnyMessage message,
                                                              std::optional<TimePoint> due = {});

  /// Answers a request that this peer has received.
  void answer(const NodeName& node, const Heard& request, msg::AnyMessage message);

  /// Returns all received messages of that kind, in order, and forgets them.
  template <class Message>
  std::vector<Message> take() {
    std::vector<Message> taken;
    for (Heard& one : take_heard<Message>()) taken.push_back(std::move(one.message).get<Message>());
    return taken;
  }

  /// As above, with their requests.
  template <class Message>
  std::vector<Heard> take_heard() {
    if (before_taking) before_taking();
    std::vector<Heard> taken;
    std::erase_if(heard_, [&](Heard& one) {
      if (!one.message.holds<Message>()) return false;
      taken.push_back(std::move(one));
      return true;
    });
    return taken;
  }

  /// Returns all received messages, in order, and forgets them.
  std::vector<Heard> take_all() {
    if (before_taking) before_taking();
    return std::exchange(heard_, {});
  }

  /// Sends packets that were lost again, as if it were `later`.
  void send_again(Duration later) {
    in_turn([this, later] { router_.tick(now() + later); });
  }

  /// Makes the node send what it holds back; empty: it sends that in its own time.
  std::function<void()> before_taking = {};

  /// Returns whether the peer itself had no memory for an event: what it says and hears from then on means nothing.
  [[nodiscard]] bool is_broken() const { return is_broken_; }

  [[nodiscard]] bool is_up(const NodeName& node) const { return up_.contains(node) && !ended_.contains(node); }

  /// Returns how the connection to that node ended: "peer_down connection closed"; nothing while it is open.
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
  void refuse_unread(const NodeLife&, RequestId, Error) override {}
  void answers_taken(const NodeLife&, const AnswerTotals&) override {}
  void load_changed(const NodeName&, const detail::PeerLoad&) override {}
  void peer_up(const Peer&) override {}
  void peer_down(const Peer&, const Error&) override {}
  void give_up(const NodeName& peer, const Farewell& farewell) override { link_.disconnect(peer, farewell); }
  void pending_changed(std::size_t) override {}
  void warn(std::string) override {}
  void cancel_soon(RequestId) override {}
  void word_lost(const NodeLife&, const msg::Outside&, Error) override { is_broken_ = true; }
  std::function<void()> grant_soon(const NodeLife&) override {
    return [] {};
  }

  [[nodiscard]] static TimePoint now() { return TimePoint{std::chrono::hours(1)}; }

  /// Runs `action` after the router has finished: the node may react while the router sends, and a router actor would
  /// handle that reaction later.
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
  bool is_broken_ = false;
};

/// The node "m" and the peers that a test adds. All work happens on the test's thread, before the causing call returns.
struct AmongBarePeers {
  explicit AmongBarePeers(std::optional<std::uint32_t> rank = 0, FunctionRegistry functions = {},
                          const PeerLimits& limits = {}, CallGrants grants = {});

  /// Adds a peer that is connected to the node.
  std::unique_ptr<BarePeer> peer(const NodeName& name, std::uint64_t life = 1);

  [[nodiscard]] detail::NodeCore& core() { return node->core(); }
  [[nodiscard]] NodeLife life() { return {core().name(), core().incarnation()}; }

  HandWaits waits;
  detail::BlockingHook::Guard guard{waits};
  MemoryHub hub;
  std::shared_ptr<HandClock> clock = std::make_shared<HandClock>();
  std::shared_ptr<HandPool> pool = std::make_shared<HandPool>();
  std::unique_ptr<Node> node;
};

}  // namespace troupe::testing
