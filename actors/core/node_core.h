// One node, as the front doors, the actors and the node itself see it. core/node_core.cc is what it does by itself;
// core/node_assembly.cc puts its parts together, hands each message to one of them, and ends them. No globals: everything a
// node has hangs here, so two nodes in one process share nothing but code.
//
// Lifetime: shared by the Node and by whatever still refers to the node (scopes, futures' callbacks, references). After
// stop() every operation fails with shutting_down; destruction never blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/calls/device_maps.h"
#include "actors/calls/function_table.h"
#include "actors/calls/retry_budget.h"
#include "actors/calls/served_calls.h"
#include "actors/calls/waiting_calls.h"
#include "actors/clock.h"
#include "actors/core/gate.h"
#include "actors/core/leaks.h"
#include "actors/core/lives.h"
#include "actors/core/node_life.h"
#include "actors/core/request.h"
#include "actors/core/query.h"
#include "actors/deadline.h"
#include "actors/executor.h"
#include "actors/future.h"
#include "actors/link.h"
#include "actors/sessions/call_table.h"
#include "actors/sessions/parcel.h"
#include "actors/sessions/peer_limits.h"
#include "actors/sessions/silences.h"
#include "actors/sessions/traffic.h"
#include "actors/source_location.h"
#include "messages/all.h"

namespace troupe::detail {

class ActorHost;
class Collectives;
class Contexts;
class Membership;
struct PeerAccounts;
class References;
class Shards;

/// What a node is made from. The simulator and the tests put other clocks, links and executors in.
struct NodeParts {
  NodeName name;
  Incarnation incarnation;
  std::optional<std::uint32_t> rank;  ///< in a world that is made with all its members; nothing: founds or joins one
  FunctionTable functions;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Executor> executor;
  std::unique_ptr<Link> link;
  std::function<std::unique_ptr<ActorHost>()> make_host;  ///< how actors are scheduled
  Leaks leaks = Leaks::warn;
  Deadline call_deadline = {};        ///< of calls that are given no other
  PeerLimits peer_limits = {};
};

/// What a node knows about itself, for debug info and tests.
struct NodeCounts {
  std::size_t pending_requests = 0;
  std::size_t served_calls = 0;
  std::size_t waiting_calls = 0;
  std::size_t owned_values = 0;
  std::size_t handles = 0;
  std::size_t contexts = 0;
  std::size_t shards = 0;
  friend bool operator==(const NodeCounts&, const NodeCounts&) = default;
};

class NodeCore final : public std::enable_shared_from_this<NodeCore>, public AnswerSender, private LinkSink {
 public:
  [[nodiscard]] static std::shared_ptr<NodeCore> start(NodeParts parts);
  ~NodeCore() override;
  NodeCore(const NodeCore&) = delete;
  NodeCore& operator=(const NodeCore&) = delete;

  [[nodiscard]] const NodeName& name() const { return name_; }
  [[nodiscard]] Incarnation incarnation() const { return incarnation_; }
  [[nodiscard]] NodeLife life() const override { return {name_, incarnation_}; }
  [[nodiscard]] std::optional<std::uint32_t> rank() const { return rank_; }
  [[nodiscard]] Peer self() const { return {name_, incarnation_, link_->address()}; }
  [[nodiscard]] Clock& clock() const { return *clock_; }
  [[nodiscard]] Executor& executor() const { return *executor_; }
  [[nodiscard]] FutureHome future_home() const { return {executor_, clock_, functions_.exceptions()}; }
  [[nodiscard]] const FunctionTable& functions() const { return functions_; }
  [[nodiscard]] Link& link() const { return *link_; }

  /// An id that no node ever gave: this node's name, its incarnation and the next serial.
  template <class Id>
  [[nodiscard]] Id next_id() {
    return Id{name_, incarnation_.low, next_serial_.fetch_add(1, std::memory_order_relaxed)};
  }

  /// Sends a request; `done` is told exactly once: answer, Error of the peer, timeout, peer_down, shutting_down.
  void request(Request request, AnswerHandler done);

  /// Sends a notification to actor `actor` ("" for the message's own actor) on node `to`. Lost if `to` is gone.
  void notify(const NodeName& to, std::string actor, msg::AnyMessage message);

  /// Likewise, to that life of a node only.
  void notify(const NodeLife& to, std::string actor, msg::AnyMessage message);

  /// Answers that request of that life of a node.
  void send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message) override;

  /// Runs user code on the pool, never here. If the pool refuses, `refused` is told instead: here, or later on one of its threads.
  void run(std::string label, std::function<void()> job, std::function<void(const Error&)> refused,
           msg::Priority priority = msg::Priority::normal);

  /// Ends the session with a peer that does not keep to the rules.
  void give_up(const NodeName& peer, std::string_view why);

  /// Whether a session with `peer` is up (always true for this node itself).
  [[nodiscard]] bool is_up(const NodeName& peer) const;

  /// Whose life is over: known there before it is known anywhere else.
  [[nodiscard]] Lives& lives() { return lives_; }
  [[nodiscard]] const Lives& lives() const { return lives_; }
  [[nodiscard]] ServedCalls& served_calls() { return served_calls_; }
  [[nodiscard]] WaitingCalls& waiting_calls() { return waiting_calls_; }
  /// What each peer has here, and how much it may.
  [[nodiscard]] PeerAccounts& accounts() const { return *accounts_; }
  [[nodiscard]] Traffic& traffic() { return traffic_; }
  [[nodiscard]] const Silences& silences() const { return silences_; }
  [[nodiscard]] RetryBudgets& retry_budgets() { return retry_budgets_; }
  [[nodiscard]] DeviceMaps& device_maps() { return device_maps_; }
  [[nodiscard]] References& references() const { return *references_; }
  [[nodiscard]] Contexts& contexts() const { return *contexts_; }
  [[nodiscard]] Shards& shards() const { return *shards_; }
  [[nodiscard]] Membership& membership() const { return *membership_; }
  [[nodiscard]] Collectives& collectives() const { return *collectives_; }
  [[nodiscard]] ActorHost& host() const { return *host_; }

  [[nodiscard]] NodeCounts counts() const;

  /// The requests that have waited longest, one line each, for shutdown reports.
  [[nodiscard]] std::vector<std::string> oldest_requests() const;

  /// The `count` requests that have waited longest, the oldest first.
  void list_requests(std::size_t count, const Query<PendingCall>::ReplySlot& slot) const;

  /// Requests ever made here.
  [[nodiscard]] std::uint64_t requests_started() const { return requests_started_.load(std::memory_order_acquire); }

  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire); }

  [[nodiscard]] Leaks leaks() const { return leaks_; }
  [[nodiscard]] Deadline call_deadline() const { return call_deadline_; }

  /// Calls of peers wait from now on, until the world is complete: a function that is served may call every other node.
  void hold_calls() { calls_of_peers_.close(); }
  /// Serves those that came meanwhile, in order, and all later ones at once.
  void release_calls();

  /// The common end has come: from now on a peer that goes is no news for the log.
  void expect_departures() { departures_expected_.store(true, std::memory_order_relaxed); }

  /// Ends the node: answers everything pending with shutting_down, ends the actors, closes the link, stops the pool.
  /// Takes until `due` at most; returns what did not end by then, one line each. A second call returns nothing.
  std::vector<std::string> stop(TimePoint due);

  /// Something failed without which the node cannot go on: its router, membership or link. Says so in the log and ends the
  /// node without waiting: everything pending is answered with `why`, peers are told goodbye, the link closes soon. stop()
  /// does the rest. The first cause counts; none does after stop().
  void fail(Error why) noexcept;

  /// Why the node has failed; nothing if it has not.
  [[nodiscard]] std::optional<Error> failure() const;

  /// True the first time it is asked for this line of the user's program.
  [[nodiscard]] bool first_warning_at(const SourceLocation& site);

  /// Error `code` of this node, with the peer filled in.
  [[nodiscard]] Error error(ErrorCode code, const NodeName& peer, std::string operation, std::string message) const;

 private:
  explicit NodeCore(NodeParts parts);
  void begin();
  void send_notification(NodeName to, std::optional<Incarnation> life, std::string actor, msg::AnyMessage message);

  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) override;
  void on_connect_failed(std::string_view address, const Error& why) override;
  void on_link_failed(const Error& why) override;

  struct Routing;  // the router, as it is seen from here
  struct Workers;  // the worker
  struct RouterCallbacks;
  void deliver(Delivery delivery);
  void dispatch(Delivery delivery);
  void hand_on(Delivery delivery);
  void peer_down(const Peer& peer, const Error& why);
  void wake_router_at(TimePoint due);
  /// Nothing if it was ended before; else kept when all peers have been told goodbye.
  [[nodiscard]] std::optional<Future<void>> end(const Error& why);
  void close_link();
  [[nodiscard]] Error stopped_error(const NodeName& peer, const std::string& operation) const;

  const NodeName name_;
  const Incarnation incarnation_;
  const std::optional<std::uint32_t> rank_;
  const Leaks leaks_;
  const Deadline call_deadline_;
  const FunctionTable functions_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<Link> link_;
  Lives lives_;
  const Packing packing_;
  const PeerLimits peer_limits_;
  ServedCalls served_calls_;
  WaitingCalls waiting_calls_;
  const std::unique_ptr<PeerAccounts> accounts_;
  Traffic traffic_;
  Silences silences_;
  RetryBudgets retry_budgets_;
  DeviceMaps device_maps_;
  std::unique_ptr<ActorHost> host_;
  std::unique_ptr<RouterCallbacks> callbacks_;
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<References> references_;
  std::unique_ptr<Contexts> contexts_;
  std::unique_ptr<Shards> shards_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<Routing> routing_;
  std::unique_ptr<Workers> workers_;
  std::atomic<std::uint64_t> next_serial_{1};
  std::atomic<std::uint64_t> next_request_{1};
  std::atomic<std::uint64_t> requests_started_{0};
  std::atomic<bool> stopped_{false};  // nothing is sent or asked any more
  std::atomic<bool> torn_down_{false};
  std::once_flag link_closed_;
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;  // guarded by failure_mutex_
  std::atomic<bool> departures_expected_{false};
  Gate<Delivery> calls_of_peers_;
  std::shared_ptr<NodeCore> kept_;  // this node, once actors have outlived its stop: they point to its parts
  std::mutex warned_mutex_;
  std::set<std::pair<std::string, std::uint32_t>> warned_;  // guarded by warned_mutex_
};

}  // namespace troupe::detail
