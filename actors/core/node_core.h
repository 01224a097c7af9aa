// One node, as the front doors, the actors and the Node see it. core/node_core.cc has its own behavior;
// core/node_assembly.cc makes its parts, dispatches messages to them, and ends them. No globals: everything that a node
// has is reached from here, so two nodes in one process share only code.
//
// Lifetime: shared by the Node and by all that refer to it (scopes, futures' callbacks, references). After stop() every
// operation fails with shutting_down. Destruction never blocks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/calls/call_grants.h"
#include "actors/calls/device_maps.h"
#include "actors/calls/function_table.h"
#include "actors/calls/listed_grants.h"
#include "actors/calls/retry_budget.h"
#include "actors/calls/served_calls.h"
#include "actors/calls/waiting_calls.h"
#include "actors/clock.h"
#include "actors/core/gate.h"
#include "actors/core/id_secrets.h"
#include "actors/core/lives.h"
#include "actors/core/query.h"
#include "actors/core/reports.h"
#include "actors/core/request.h"
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
#include "messages/ids.h"

namespace troupe::detail {

class ActorHost;
class Collectives;
class Contexts;
class Membership;
struct PeerAccounts;
class Recordings;
class References;
class Shards;

/// The parts from which a node is made. The simulator and the tests pass other clocks, links and executors.
struct NodeParts {
  NodeName name;
  Incarnation incarnation;
  std::optional<std::uint32_t> rank;  ///< in a world made with all its members; nullopt: the node founds or joins one
  FunctionTable functions;
  std::shared_ptr<Clock> clock;
  std::shared_ptr<Executor> executor;
  std::unique_ptr<Link> link;
  std::function<std::unique_ptr<ActorHost>()> make_host;  ///< how actors are scheduled
  Leaks leaks = Leaks::warn;
  Deadline call_deadline = {};  ///< of calls without a deadline of their own
  PeerLimits peer_limits = {};
  CallGrants call_grants = {};                ///< which peers may call which functions; none: all may call all
  ListedGrants listed_grants = {};            ///< those of the list of members, which may be replaced
  IdSecrets id_secrets = IdSecrets::drawn();  ///< makes ids unguessable; the simulator's follow from its seed
  /// Told of each call of a peer that is refused, on any thread; must not wait. May be empty.
  std::function<void(const NodeName& caller, const Error& why)> on_refused_call = {};
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
  [[nodiscard]] FutureHome future_home() const { return {executor_, clock_, functions_.exceptions(), receiving_}; }
  [[nodiscard]] const FunctionTable& functions() const { return functions_; }
  [[nodiscard]] const CallGrants& call_grants() const { return call_grants_; }
  /// Those of the list of members. A call of a peer needs a grant here and in the node's own grants.
  [[nodiscard]] ReplaceableGrants& listed_grants() { return listed_grants_; }
  [[nodiscard]] const ReplaceableGrants& listed_grants() const { return listed_grants_; }
  /// Reports a refused call of a peer to NodeParts::on_refused_call.
  void tell_refused_call(const NodeName& caller, const Error& why) const {
    if (on_refused_call_) on_refused_call_(caller, why);
  }
  [[nodiscard]] Link& link() const { return *link_; }

  /// Returns an id that no node has used: this node's name, its incarnation and the next serial.
  template <class Id>
  [[nodiscard]] Id next_id() {
    return id_of<Id>(next_serial_.fetch_add(1, std::memory_order_relaxed));
  }

  /// Returns the id with that serial. One that is a capability gets its secret.
  template <class Id>
  [[nodiscard]] Id id_of(std::uint64_t serial) const {
    if constexpr (requires(Id id) { id.secret; }) {
      return Id{name_, incarnation_.low, serial, id_secrets_.secret_for(IdSecrets::kind_of<Id>(), serial)};
    } else {
      return Id{name_, incarnation_.low, serial};
    }
  }

  /// Sends a request. Calls `done` exactly once: with the answer, the peer's Error, timeout, peer_down or
  /// shutting_down. Throws std::bad_alloc; then nothing is sent, and `done` is not called.
  void request(Request request, AnswerHandler done);

  /// Sends a notification to `actor` (empty: the message's type determines the receiver) of `to`; drops it if `to` is
  /// gone. Throws std::bad_alloc.
  void notify(const NodeName& to, std::string actor, msg::AnyMessage message, Haste haste = Haste::at_once);
  /// As above, to that life of a node only.
  void notify(const NodeLife& to, std::string actor, msg::AnyMessage message, Haste haste = Haste::at_once);

  /// Answers the request of that life of a node. See AnswerSender.
  void send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message, UndoList undo) override;

  /// Runs user code on the pool, never on this thread. If the pool refuses `job`, calls `refused`, on this thread or a
  /// pool thread.
  void run(std::string label, std::function<void()> job, std::function<void(const Error&)> refused,
           msg::Priority priority = msg::Priority::normal);
  /// As run, for a job that Executor::run_short may run on this thread.
  void run_short(std::string label, std::function<void()> job, std::function<void(const Error&)> refused);

  /// Ends the session with a peer that broke the protocol.
  void give_up(const NodeLife& peer, std::string_view why);

  /// Returns whether a session with `peer` is up (always true for this node itself).
  [[nodiscard]] bool is_up(const NodeName& peer) const;

  /// The lives of nodes that are over: updated before any other part of the node learns of a death.
  [[nodiscard]] Lives& lives() { return lives_; }
  [[nodiscard]] const Lives& lives() const { return lives_; }
  [[nodiscard]] ServedCalls& served_calls() { return served_calls_; }
  [[nodiscard]] WaitingCalls& waiting_calls() { return waiting_calls_; }
  /// The resources that each peer holds on this node, and their limits.
  [[nodiscard]] PeerAccounts& accounts() const { return *accounts_; }
  [[nodiscard]] Traffic& traffic() { return traffic_; }
  [[nodiscard]] std::optional<SharedMemoryUse> shared_memory() const { return link_->shared_memory(); }
  [[nodiscard]] std::optional<StreamUse> streams() const { return link_->streams(); }
  [[nodiscard]] std::map<NodeName, PeerTransport> transports() const { return link_->transports(); }
  void release_shared_memory(Duration idle) { link_->release_unused(clock_->now(), idle); }
  [[nodiscard]] const Silences& silences() const { return silences_; }
  [[nodiscard]] RetryBudgets& retry_budgets() { return retry_budgets_; }
  [[nodiscard]] DeviceMaps& device_maps() { return device_maps_; }
  [[nodiscard]] Recordings& recordings() const { return *recordings_; }
  [[nodiscard]] References& references() const { return *references_; }
  [[nodiscard]] Contexts& contexts() const { return *contexts_; }
  [[nodiscard]] Shards& shards() const { return *shards_; }
  [[nodiscard]] Membership& membership() const { return *membership_; }
  [[nodiscard]] Collectives& collectives() const { return *collectives_; }
  [[nodiscard]] ActorHost& host() const { return *host_; }
  [[nodiscard]] NodeCounts counts() const;

  /// Returns the requests, and the functions of other nodes' requests, that have waited longest, one line each, for
  /// shutdown reports.
  [[nodiscard]] std::vector<std::string> oldest_work() const;
  /// Replies to `slot` with the `count` requests that have waited longest, the oldest first.
  void list_requests(std::size_t count, const Query<PendingCall>::ReplySlot& slot) const;
  /// Returns the number of requests ever started on this node.
  [[nodiscard]] std::uint64_t requests_started() const { return requests_started_.load(std::memory_order_acquire); }
  /// Returns whether nothing is sent or requested any more: also in a forked child.
  [[nodiscard]] bool stopped() const { return stopped_.load(std::memory_order_acquire) || !is_of_this_process(); }
  /// Returns false in a forked child: it has the node's memory without its threads, and locks in their state at the
  /// fork.
  [[nodiscard]] bool is_of_this_process() const { return executor_->is_of_this_process(); }
  [[nodiscard]] Leaks leaks() const { return leaks_; }
  [[nodiscard]] Deadline call_deadline() const { return call_deadline_; }

  /// Holds calls of peers back until the world is complete: a served function may call every other node.
  void hold_calls() { calls_of_peers_.close(); }
  /// Serves the held calls, in order, and later ones at once.
  void release_calls();

  /// Shutdown has started: the log reports no departing peer from now on.
  void expect_departures() { departures_expected_.store(true, std::memory_order_relaxed); }

  /// Ends the node: fails everything pending with shutting_down, ends the actors, closes the link, stops the pool.
  /// Waits for functions until `due`, and for the node's own actors a second longer if they need it. Returns what had
  /// not ended by then, one line each. A job of the node's own pool may call it; that job is not waited for. A second
  /// call waits, until its own `due`, for the first one, and for the job if a job made the first one, and returns which
  /// of these had not ended. Made by a job, it returns at once: the first call may wait for that job. In a forked child
  /// it does nothing.
  std::vector<std::string> stop(TimePoint due);

  /// Ends the node, without waiting, because its router, membership or link failed. Logs `why`, fails everything
  /// pending with it, sends peers a farewell and closes the link soon after. stop() ends the remaining parts, and those
  /// that could not be ended here for lack of memory. Only the first cause counts, and none after stop().
  void fail(Error why) noexcept;

  /// Returns why the node has failed; nullopt if it has not.
  [[nodiscard]] std::optional<Error> failure() const;

  /// Returns true the first time it is called for this line of the user's program.
  [[nodiscard]] bool first_warning_at(const SourceLocation& site);

  /// Returns an Error `code` of this node about `peer`.
  [[nodiscard]] Error error(ErrorCode code, const NodeName& peer, std::string operation, std::string message) const;
  /// Returns the Error of what this node no longer does: shutting_down, or why it has failed.
  [[nodiscard]] Error stopped_error(const NodeName& peer, const std::string& operation) const;

 private:
  class UnansweredRequest;

  explicit NodeCore(NodeParts parts);
  void begin();
  void post(NodeName to, std::optional<Incarnation> life, std::string actor, msg::AnyMessage message, Haste haste);
  /// Returns `refused` for errors that name this node.
  [[nodiscard]] std::function<void(const Error&)> own_refusal(std::function<void(const Error&)> refused) const;

  void on_link_up(const Peer& peer) override;
  void on_frames(const NodeName& from, Incarnation incarnation, Frames frames) override;
  void on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) override;
  void on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) override;
  void on_connect_failed(std::string_view address, const Error& why) override;
  void on_link_failed(const Error& why) override;

  struct Routing;  // the router's interface for core/
  struct Workers;  // the worker
  struct RouterCallbacks;
  void deliver(Delivery delivery);
  void dispatch(Delivery delivery);
  void hand_on(Delivery& delivery);
  void peer_down(const Peer& peer, const Error& why);
  void wake_router_at(TimePoint due);
  /// Ends the node with `why`; the future is complete when farewells to all peers are sent. Returns nullopt if it had
  /// ended before.
  [[nodiscard]] std::optional<Future<void>> end(const Error& why);
  void close_link();

  const NodeName name_;
  const Incarnation incarnation_;
  const IdSecrets id_secrets_;
  const std::optional<std::uint32_t> rank_;
  const Leaks leaks_;
  const Deadline call_deadline_;
  const FunctionTable functions_;
  const CallGrants call_grants_;
  ReplaceableGrants listed_grants_;
  const std::function<void(const NodeName& caller, const Error& why)> on_refused_call_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Executor> executor_;
  const std::unique_ptr<Link> link_;
  const std::shared_ptr<WaitingWork> receiving_;  ///< may be null
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
  const std::unique_ptr<Recordings> recordings_;
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
  std::atomic<bool> stopped_{false};  // true: nothing is sent or requested any more
  std::atomic<bool> torn_down_{false};
  std::once_flag link_closed_;
  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;  // guarded by failure_mutex_
  std::atomic<bool> departures_expected_{false};
  Gate<Delivery> calls_of_peers_;
  std::shared_ptr<NodeCore> kept_;  // this node, if actors outlive it: they point to its parts; set by the first stop()
  std::mutex warned_mutex_;
  std::set<std::pair<std::string, std::uint32_t>> warned_;  // guarded by warned_mutex_
};

}  // namespace troupe::detail
