// Makes the parts of a node, dispatches messages to them, and ends them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "actors/calls/payload_io.h"
#include "actors/calls/worker_actor.h"
#include "actors/checkpoint/embedding_part.h"
#include "actors/checkpoint/optimizer_part.h"
#include "actors/checkpoint/remote_part.h"
#include "actors/collectives/collectives.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/core/peer_accounts.h"
#include "actors/core/routing.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/embedding/embedding_shard.h"
#include "actors/function_registry.h"
#include "actors/membership/membership.h"
#include "actors/op.h"
#include "actors/pipeline/loss_round.h"
#include "actors/pipeline/stage_seat.h"
#include "actors/pipeline/stage_work.h"
#include "actors/profile/profiler.h"
#include "actors/profile/recording.h"
#include "actors/references/fetches.h"
#include "actors/references/naming.h"
#include "actors/references/references.h"
#include "actors/references/value_calls.h"
#include "actors/sessions/packed_message.h"
#include "actors/shards/early_updates.h"
#include "actors/shards/shards.h"

namespace troupe::detail {
namespace {

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

/// Releases the references in a call that is not served. What has been read has none any more.
void release_unread(References& references, const NodeName& from, const msg::AnyMessage& message) {
  message.visit([&](const auto& unread) {
    if constexpr (requires { unread.arguments; }) std::ignore = references.received(unread.arguments.refs, from);
  });
}

SessionOptions session_options(const PeerLimits& limits) {
  SessionOptions options;
  options.waiting_calls_max = limits.waiting_calls_max;
  options.waiting_bytes_max = limits.waiting_bytes_max;
  const SessionGrants& least = options.first_grants;  // the peer relies on it from the start
  const std::uint64_t bulk = limits.bulk_bytes_max;
  options.grants = {
      .calls = limits.calls_max, .nested = limits.nested_calls_max, .bytes = {0, bulk, bulk / 2, bulk, bulk}};
  options.grants.calls = std::max(options.grants.calls, least.calls);
  options.grants.nested = std::max(options.grants.nested, least.nested);
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane)
    options.grants.bytes[lane] = std::max(options.grants.bytes[lane], least.bytes[lane]);
  return options;
}

/// Cutting frames that are handed over without a copy gains nothing.
Packing packing_for(const Link& link) {
  Packing packing{.hashed = !link.guards_bytes()};
  if (link.shares_memory()) packing.whole_bytes_max = kMessageBytesMax;
  return packing;
}

FunctionRegistry common_functions() {
  return operations().with({{"troupe.embedding_lookup", &EmbeddingShard::lookup},
                            {"troupe.embedding_parameter", &EmbeddingShard::parameter},
                            {"troupe.embedding_pull", &EmbeddingShard::pull},
                            {"troupe.embedding_push", &EmbeddingShard::push},
                            {"troupe.embedding_shard", &make_embedding_shard},
                            {"troupe.find", &find_published},
                            {"troupe.gradient", &gradient_at_owner},
                            {"troupe.gradient_squares", &gradient_squares},
                            {"troupe.gradients", &gradients_at_owner},
                            {"troupe.pipeline_fail", &fail_stage_round},
                            {"troupe.pipeline_join", &join_stage_round},
                            {"troupe.pipeline_loss", &loss_value},
                            {"troupe.pipeline_seat", &make_stage_seat},
                            {"troupe.pipeline_seed", &weighted_loss},
                            {"troupe.pipeline_settle", &settle_stage_round},
                            {"troupe.prepare_in_pass", &prepare_in_pass},
                            {"troupe.recording", &begin_recording},
                            {"troupe.recording_end", &KeptRecording::end},
                            {"troupe.recording_now", &KeptRecording::now},
                            {"troupe.recording_take", &KeptRecording::take},
                            {"troupe.restored", &StagedState::load},
                            {"troupe.restoring", &StagedState::write},
                            {"troupe.saved_notes", &StateSnapshot::notes},
                            {"troupe.saved_plans", &StateSnapshot::plans},
                            {"troupe.saved_state", &StateSnapshot::read},
                            {"troupe.saved_state_is_current", &StateSnapshot::is_current},
                            {"troupe.seeded_root", &seeded_at_owner},
                            {"troupe.snapshot", &snapshot_of_variables},
                            {"troupe.snapshot_of_shard", &snapshot_of_shard},
                            {"troupe.snapshot_of_states", &snapshot_of_states},
                            {"troupe.stage", &stage_variables},
                            {"troupe.stage_shard", &stage_shard},
                            {"troupe.unused", &unused_here}});
}

/// The functions of the user, then those that every node serves. Those are never destroyed: a node may serve calls
/// while its process exits.
FunctionTable with_common(FunctionTable functions) {
  static const auto& common = *std::make_unique<const FunctionRegistry>(common_functions()).release();
  functions.fall_back_on(common.table());
  return functions;
}

}  // namespace

struct NodeCore::Workers {
  WorkerActor worker;
  std::optional<Prepared<StopWorking>> stop_working;  // from begin() to end(), which must end without memory, too
};

namespace {

bool is_of_pass(msg::MessageTag tag) {
  return tag == msg::BackwardRun::kInfo.tag() || tag == msg::BackwardGradients::kInfo.tag() ||
         tag == msg::BackwardFinished::kInfo.tag();
}

}  // namespace

/// The router's effects on the other parts of its node.
struct NodeCore::RouterCallbacks final : Router::Callbacks {
  explicit RouterCallbacks(NodeCore& n) : node(n) {}

  /// A packet that gets no memory is as one that the link loses: its session sends it again.
  void transmit(const NodeName& to, LinkLane lane, Frames packet) override try {
    node.traffic_.sent(to, packet);
    node.link_->send(to, lane, std::move(packet));
  } catch (const std::bad_alloc&) {
    return;
  }
  void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint> due,
               std::shared_ptr<CallCredit> credit) override try {
    ReturnAddress answer;
    if (envelope.request.value != 0 && from.name != node.name_) node.traffic_.called_by(from.name);
    if (envelope.request.value != 0)
      answer = ReturnAddress(node.shared_from_this(), {from.name, from.incarnation}, envelope.request);
    node.deliver({from.name, from.incarnation, std::move(envelope), std::move(message), std::move(answer), due,
                  std::move(credit)});
  } catch (const std::bad_alloc&) {
    release_unread(*node.references_, from.name, message);
    throw;
  }
  void came_late(const NodeLife& from, msg::AnyMessage answer) override {
    auto* reply = answer.get_if<msg::Reply>();
    if (reply == nullptr || node.stopped()) return;
    reply->value.boundary.reset();  // no graph on this node will reach it
    const PayloadReader unread(node.shared_from_this(), from.name, std::move(reply->value));
  }
  void refuse_unread(const NodeLife& from, RequestId request, Error why) override {
    node.send_answer(from, request, msg::Failure{.error = std::move(why), .unread = true}, {});
  }
  void answers_taken(const NodeLife& by, const AnswerTotals& taken) override {
    for (const AnswerBacklog::Begin& begin : node.accounts_->answers.taken(by, taken)) begin();
  }
  void load_changed(const NodeName& peer, const PeerLoad& load) override { node.accounts_->loads.changed(peer, load); }
  void peer_up(const Peer& peer) override {
    node.traffic_.began(peer.name);
    node.references_->peer_up(peer);
    node.membership_->peer_up(peer);
  }
  void peer_down(const Peer& peer, const Error& why) override { node.peer_down(peer, why); }
  void give_up(const NodeName& peer, const Farewell& farewell) override { node.link_->disconnect(peer, farewell); }
  void pending_changed(std::size_t requests) override {
    node.routing_->pending_requests.store(requests, std::memory_order_release);
  }
  void warn(std::string text) override { spdlog::warn("[{}] {}", node.name_, text); }
  /// In a stop callback, where no exception may end.
  void cancel_soon(RequestId request) override try {
    node.host_->send(node.routing_->router, CancelRequest{request});
  } catch (const std::bad_alloc&) {
    node.fail(failure_of_current_exception("a cancellation"));
  }
  std::function<void()> grant_soon(const NodeLife& peer) override {
    return [weak = node.weak_from_this(), peer] {
      const auto alive = weak.lock();
      if (alive && !alive->stopped()) alive->host_->send(alive->routing_->router, CallsStarted{peer});
    };
  }

  void word_lost(const NodeLife& from, const msg::Outside& word, Error why) override {
    const msg::MessageInfo* info = msg::find_info(word.tag);
    why.message += fmt::format(" of a {} from {}", info == nullptr ? "message" : info->name, from.name);
    if (!is_of_pass(word.tag) || !node.contexts_->word_lost(word.envelope.to, from, why))
      node.give_up(from, why.message);
  }

  NodeCore& node;
};

std::shared_ptr<NodeCore> NodeCore::start(NodeParts parts) {
  std::shared_ptr<NodeCore> node(new NodeCore(std::move(parts)));
  node->begin();
  return node;
}

NodeCore::NodeCore(NodeParts parts)
    : name_(std::move(parts.name)),
      incarnation_(parts.incarnation),
      id_secrets_(parts.id_secrets),
      rank_(parts.rank),
      leaks_(parts.leaks),
      call_deadline_(parts.call_deadline),
      functions_(with_common(std::move(parts.functions))),
      call_grants_(std::move(parts.call_grants)),
      listed_grants_(std::move(parts.listed_grants)),
      on_refused_call_(std::move(parts.on_refused_call)),
      clock_(std::move(parts.clock)),
      executor_(std::move(parts.executor)),
      link_(std::move(parts.link)),
      receiving_(link_->receiving()),
      packing_(packing_for(*link_)),
      peer_limits_(parts.peer_limits),
      served_calls_(clock_, executor_),
      accounts_(std::make_unique<PeerAccounts>(name_, peer_limits_)),
      recordings_(std::make_unique<Recordings>()),
      host_(parts.make_host()),
      callbacks_(std::make_unique<RouterCallbacks>(*this)),
      membership_(std::make_unique<Membership>(*this)),
      references_(std::make_unique<References>(*this)),
      contexts_(std::make_unique<Contexts>(*this)),
      shards_(std::make_unique<Shards>(*this)),
      collectives_(std::make_unique<Collectives>(*this)),
      routing_(std::make_unique<Routing>()),
      workers_(std::make_unique<Workers>()) {}

void NodeCore::begin() {
  const RouterOptions options{.packing = packing_, .session = session_options(peer_limits_)};
  RouterSetting setting{self(),
                        callbacks_.get(),
                        &lives_,
                        options,
                        clock_.get(),
                        [this](TimePoint due) { wake_router_at(due); },
                        [this](Error why) { fail(std::move(why)); }};
  const ActorHost::Lost lost = setting.failed;
  routing_->router = host_->spawn("the router", lost, router_actor, std::move(setting));
  routing_->stop_routing.emplace(StopRouting{{}, Promise<void>(future_home())});
  workers_->stop_working.emplace(StopWorking{});
  workers_->worker = host_->spawn("the worker", lost, worker_actor, this);
  link_->start(*this);
  if (receiving_) executor_->work_while_idle(receiving_);
}

NodeCore::~NodeCore() { std::ignore = stop(clock_->now()); }

namespace {

/// Returns what undoes an answer that is taken back, and gives back the references in it; empty if there is nothing.
/// REQUIRES: with `undo` it has references.
std::function<void()> undo_of(NodeCore& node, const msg::AnyMessage& answer, const UndoList& undo) {
  const auto* reply = answer.get_if<msg::Reply>();
  if (reply == nullptr || reply->value.refs.empty()) return {};
  return [weak = node.weak_from_this(), handouts = reply->value.refs, undo] {
    for (const std::function<void()>& each : undo) each();  // while the references keep what they undo
    const auto alive = weak.lock();
    if (!alive || alive->stopped()) return;
    for (const msg::RRefHandout& handout : handouts) alive->references().take_back(handout);
  };
}

}  // namespace

/// The memory for an answer is there before anything counts it. `message` is taken last.
std::optional<Error> NodeCore::Routing::try_to_answer(NodeCore& node, const NodeLife& to, RequestId request,
                                                      msg::AnyMessage& message, const UndoList& undo) try {
  if (to.name == node.name_) {
    Prepared<SendAnswerToSelf> answer({request, {}});
    answer.message().message = std::move(message);
    node.host_->send_prepared(node.routing_->router, std::move(answer));
    return std::nullopt;
  }
  auto parcel =
      pack_message({node.name_, to.name + "/router", {}, request}, message, node.packing_, to.name, *node.link_);
  if (!parcel) return parcel.error();
  Prepared<SendAnswer> answer({to, {request, {}, undo_of(node, message, undo)}});
  node.accounts_->answers.sent(to, parcel.value());
  if (!node.lives_.is_up(to)) std::ignore = node.accounts_->answers.gone(to);  // it has ended, and was forgotten before
  answer.message().answer.parcel = std::move(parcel).value();
  node.host_->send_prepared(node.routing_->router, std::move(answer));
  return std::nullopt;
} catch (const std::bad_alloc&) {
  return failure_of_current_exception({});
}

/// Whoever is not answered waits, perhaps for ever: then the node ends, which its peers see.
void NodeCore::send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message, UndoList undo) {
  if (stopped()) return;
  std::optional<Error> unsent = Routing::try_to_answer(*this, to, request, message, undo);
  if (!unsent) return;
  for (const std::function<void()>& each : undo) each();
  try {
    if (const auto* reply = message.get_if<msg::Reply>()) {  // what it hands out will never be received
      for (const msg::RRefHandout& handout : reply->value.refs) references_->take_back(handout);
    }
  } catch (const std::bad_alloc&) {
    return fail(failure_of_current_exception("an answer"));
  }
  set_text(unsent->peer, name_);
  unsent->execution = Execution::yes;
  msg::AnyMessage failure = msg::Failure{*std::move(unsent)};
  if (auto why = Routing::try_to_answer(*this, to, request, failure, {})) fail(*std::move(why));
}

bool NodeCore::is_up(const NodeName& peer) const { return peer == name_ || membership_->is_up(peer); }

NodeCounts NodeCore::counts() const {
  NodeCounts counts;
  counts.pending_requests = routing_->pending_requests.load(std::memory_order_acquire);
  counts.served_calls = served_calls_.size();
  counts.waiting_calls = waiting_calls_.size();
  counts.owned_values = references_->owned_values();
  counts.handles = references_->handles();
  counts.contexts = contexts_->size();
  counts.shards = shards_->size();
  return counts;
}

void NodeCore::deliver(Delivery delivery) {
  const msg::AnyMessage& message = delivery.message;
  const bool is_call =
      message.holds<msg::Call>() || message.holds<msg::RemoteCall>() || message.holds<msg::ValueCall>();
  if (!is_call || !calls_of_peers_.keep(delivery)) dispatch(std::move(delivery));
}

/// A lack of resources fails a request. A lost control message without an answer would break the node: it ends the
/// node.
void NodeCore::dispatch(Delivery delivery) {
  const ReturnAddress answer = delivery.answer;
  try {
    hand_on(delivery);
  } catch (...) {
    if (!answer.expected()) throw;
    release_unread(*references_, delivery.from, delivery.message);
    Error why = failure_of_current_exception("deliver");
    why.execution = Execution::never;
    answer.fail(std::move(why));
  }
}

/// Takes from `delivery` what it hands on.
void NodeCore::hand_on(Delivery& delivery) {
  delivery.message.visit([&](auto& message) {
    using M = std::decay_t<decltype(message)>;
    using namespace msg;
    if constexpr (M::kInfo.kind == Kind::reply) {
      spdlog::warn("[{}] dropped a {} from {}: it answers nothing that was asked", name_, M::kInfo.name, delivery.from);
    } else if constexpr (std::is_same_v<M, Call>) {
      if (is_for_collectives(delivery.envelope.to)) return collectives_->handle(delivery);
      Prepared<CallArrived> arrived({});  // first: its references must not get lost
      arrived.message().delivery = std::move(delivery);
      host_->send_prepared(workers_->worker, std::move(arrived));
    } else if constexpr (std::is_same_v<M, CallCancelled>) {
      served_calls_.cancelled({delivery.from, delivery.incarnation}, message.request);
    } else if constexpr (std::is_same_v<M, RemoteCall>) {
      serve_remote_call(*this, delivery, message);
    } else if constexpr (std::is_same_v<M, ValueCall>) {
      serve_value_call(*this, delivery, message);
    } else if constexpr (std::is_same_v<M, RRefFetch>) {
      serve_fetch(*this, delivery, std::move(message));
    } else if constexpr (is_one_of<M, RRefForked, RRefDeleted, RRefForkAck, RRefRevoked, RRefChanged>) {
      references_->handle({delivery.from, delivery.incarnation}, message);
    } else if constexpr (is_one_of<M, ContextAborted, ContextReleased, ContextEntered>) {
      contexts_->handle({delivery.from, delivery.incarnation}, message);
    } else if constexpr (std::is_same_v<M, BackwardMark>) {
      const ContextId context = message.context;
      contexts_->mark(context, std::move(delivery));
    } else if constexpr (ContextWords::has<M>()) {
      const ContextId context = message.context;
      contexts_->hand_on(context, std::move(delivery));
    } else if constexpr (std::is_same_v<M, ShardCreate>) {
      const OptimizerId optimizer = message.optimizer;
      shards_->create(optimizer, std::move(delivery));
    } else if constexpr (std::is_same_v<M, ShardJoin>) {
      const OptimizerId optimizer = message.optimizer;
      shards_->join(optimizer, std::move(delivery));
    } else if constexpr (std::is_same_v<M, ShardQuery>) {
      const auto [optimizer, step] = std::pair(message.optimizer, message.step);
      shards_->query(optimizer, step, std::move(delivery));
    } else if constexpr (ShardWords::has<M>()) {
      const OptimizerId optimizer = message.optimizer;
      shards_->hand_on(optimizer, std::move(delivery));
    } else if constexpr (std::is_same_v<M, AuditHead>) {
      membership_->handle(delivery, message);
    } else {
      static_assert(MemberWords::has<M>(), "no part of the node takes this message");
      membership_->handle(std::move(delivery));
    }
  });
}

void NodeCore::peer_down(const Peer& peer, const Error& why) {
  const bool is_news = why.code != ErrorCode::shutting_down && !departures_expected_.load(std::memory_order_relaxed);
  spdlog::log(is_news ? spdlog::level::warn : spdlog::level::debug, "[{}] {} is gone: {}", name_, peer.name,
              why.message);
  traffic_.ended(peer.name);
  silences_.ended(peer.name);
  served_calls_.caller_gone({peer.name, peer.incarnation});
  std::ignore = accounts_->answers.gone({peer.name, peer.incarnation});
  accounts_->loads.ended(peer.name);
  contexts_->peer_down(peer, why);
  shards_->peer_down(peer, why);
  references_->peer_down(peer, why);
  membership_->peer_down(peer, why);
  collectives_->peer_down(peer, why);
}

void NodeCore::on_connect_failed(std::string_view address, const Error& why) {
  if (!stopped()) membership_->connect_failed(std::string(address), why);
}

namespace {

/// Ends a part of the node. Returns false if it had no memory to tell all who wait.
template <class End>
bool is_told(const End& end) {
  try {
    end();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

bool NodeCore::Routing::end_parts(NodeCore& node, const Error& why) noexcept {
  const bool told[] = {is_told([&] { node.membership_->stop(why); }),
                       is_told([&] { node.collectives_->stop(why); }),
                       is_told([&] { node.contexts_->stop(why); }),
                       is_told([&] { node.shards_->stop(why); }),
                       is_told([&] { node.references_->stop(why); }),
                       is_told([&] { node.served_calls_.stop(); }),
                       is_told([&] { node.waiting_calls_.end(); }),
                       is_told([&] { std::ignore = node.accounts_->answers.stop(); }),
                       is_told([&] {
                         for (const Delivery& delivery : node.calls_of_peers_.end()) delivery.answer.fail(copy_of(why));
                       })};
  return std::ranges::all_of(told, std::identity());
}

std::optional<Future<void>> NodeCore::end(const Error& why) {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return std::nullopt;
  routing_->parts_told = Routing::end_parts(*this, why);
  if (!routing_->stop_routing) return std::nullopt;  // it has not begun
  host_->send_prepared(workers_->worker, *std::exchange(workers_->stop_working, std::nullopt));
  StopRouting& stop = routing_->stop_routing->message();
  stop.why = copy_of(why);
  Future<void> said_goodbye = stop.stopped.future();
  host_->send_prepared(routing_->router, *std::exchange(routing_->stop_routing, std::nullopt));
  return said_goodbye;
}

}  // namespace troupe::detail
