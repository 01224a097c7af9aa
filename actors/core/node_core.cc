#include "actors/core/node_core.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <variant>

#include "actors/calls/payload_io.h"
#include "actors/calls/worker_actor.h"
#include "actors/collectives/collectives.h"
#include "actors/contexts/contexts.h"
#include "actors/core/peer_accounts.h"
#include "actors/core/told_once.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"
#include "actors/sessions/packed_message.h"
#include "actors/sessions/router_actor.h"
#include "actors/shards/shards.h"

namespace troupe::detail {
namespace {

template <class T, class... Ts>
inline constexpr bool is_one_of = (std::is_same_v<T, Ts> || ...);

SessionOptions session_options(const PeerLimits& limits) {
  SessionOptions options;
  options.waiting_calls_max = limits.waiting_calls_max;
  options.waiting_bytes_max = limits.waiting_bytes_max;
  const SessionGrants& least = options.first_grants;  // the peer counts on it from the start
  const std::uint64_t bulk = limits.bulk_bytes_max;
  options.grants = {.calls = limits.calls_max, .nested = limits.nested_calls_max, .bytes = {0, bulk, bulk / 2, bulk, bulk}};
  options.grants.calls = std::max(options.grants.calls, least.calls);
  options.grants.nested = std::max(options.grants.nested, least.nested);
  for (std::size_t lane = 0; lane < kSessionLanes; ++lane) options.grants.bytes[lane] = std::max(options.grants.bytes[lane], least.bytes[lane]);
  return options;
}

/// Nothing is won by cutting what changes hands as it is.
Packing packing_for(const Link& link) {
  Packing packing{.hashed = !link.guards_bytes()};
  if (link.shares_memory()) packing.whole_bytes_max = kMessageBytesMax;
  return packing;
}

}  // namespace

// --- ReturnAddress ---------------------------------------------------------------------------------------------------

struct ReturnAddress::State {
  State(std::shared_ptr<NodeCore> n, NodeLife t, RequestId r) : node(std::move(n)), to(std::move(t)), request(r) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { send(msg::Failure{node->error(ErrorCode::internal, node->name(), {}, "the request was dropped without an answer")}); }

  void send(msg::AnyMessage message) {
    if (answered.exchange(true)) return;
    node->send_answer(to, request, std::move(message));
  }

  const std::shared_ptr<NodeCore> node;
  const NodeLife to;
  const RequestId request;
  std::atomic<bool> answered{false};
};

ReturnAddress::ReturnAddress(std::shared_ptr<NodeCore> node, NodeLife to, RequestId request)
    : state_(std::make_shared<State>(std::move(node), std::move(to), request)) {}

void ReturnAddress::answer(msg::AnyMessage message) const {
  if (state_) state_->send(std::move(message));
}

void ReturnAddress::fail(Error error) const {
  if (!state_) return;
  if (error.peer.empty()) error.peer = state_->node->name();
  state_->send(msg::Failure{std::move(error)});
}

const NodeLife& ReturnAddress::requester() const {
  static const NodeLife nobody;
  return state_ ? state_->to : nobody;
}

// --- NodeCore --------------------------------------------------------------------------------------------------------

struct NodeCore::Actors {
  RouterActor router;
  WorkerActor worker;
  std::atomic<std::size_t> pending_requests{0};
};

/// What the router does to the rest of its node.
struct NodeCore::RouterSurroundings final : Router::Surroundings {
  explicit RouterSurroundings(NodeCore& n) : node(n) {}

  void transmit(const NodeName& to, LinkLane lane, Frames packet) override {
    node.traffic_.sent(to, packet);
    node.link_->send(to, lane, std::move(packet));
  }
  void deliver(const Peer& from, msg::Envelope envelope, msg::AnyMessage message, std::optional<TimePoint> due,
               std::shared_ptr<CallCredit> credit) override {
    ReturnAddress answer;
    if (envelope.request.value != 0 && from.name != node.name_) node.traffic_.called_by(from.name);
    if (envelope.request.value != 0) answer = ReturnAddress(node.shared_from_this(), {from.name, from.incarnation}, envelope.request);
    node.deliver({from.name, from.incarnation, std::move(envelope), std::move(message), std::move(answer), due, std::move(credit)});
  }
  void came_late(const NodeLife& from, msg::AnyMessage answer) override {
    auto* reply = std::get_if<msg::Reply>(&answer);
    if (reply == nullptr || node.stopped()) return;
    reply->value.boundary.reset();  // no graph here will ever reach it
    const PayloadReader unread(node.shared_from_this(), from.name, std::move(reply->value));
  }
  void no_memory_for(const NodeLife& from, RequestId request, Error why) override {
    node.send_answer(from, request, msg::Failure{std::move(why)});
  }
  void answers_taken(const NodeLife& by, std::size_t bytes) override {
    for (const AnswerBacklog::Begin& begin : node.accounts_->answers.taken(by, bytes)) begin();
  }
  void load_changed(const NodeName& peer, const PeerLoad& load) override { node.accounts_->loads.changed(peer, load); }
  void peer_up(const Peer& peer) override {
    node.traffic_.began(peer.name);
    node.references_->peer_up(peer);
    node.membership_->peer_up(peer);
  }
  void peer_down(const Peer& peer, const Error& why) override { node.peer_down(peer, why); }
  void give_up(const NodeName& peer, const Farewell& farewell) override { node.link_->disconnect(peer, farewell); }
  void pending_changed(std::size_t requests) override { node.actors_->pending_requests.store(requests, std::memory_order_release); }
  void warn(std::string text) override { spdlog::warn("[{}] {}", node.name_, text); }
  void cancel_soon(RequestId request) override { node.host_->send(node.actors_->router, CancelRequest{request}); }
  std::function<void()> grant_soon(const NodeLife& peer) override {
    return [weak = node.weak_from_this(), peer] {
      const auto alive = weak.lock();
      if (alive && !alive->stopped()) alive->host_->send(alive->actors_->router, CallsBegan{peer});
    };
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
      rank_(parts.rank),
      leaks_(parts.leaks),
      call_deadline_(parts.call_deadline),
      functions_(std::move(parts.functions)),
      clock_(std::move(parts.clock)),
      executor_(std::move(parts.executor)),
      link_(std::move(parts.link)),
      packing_(packing_for(*link_)),
      peer_limits_(parts.peer_limits),
      served_calls_(clock_, executor_),
      accounts_(std::make_unique<PeerAccounts>(name_, peer_limits_)),
      host_(parts.make_host()),
      surroundings_(std::make_unique<RouterSurroundings>(*this)),
      membership_(std::make_unique<Membership>(*this)),
      references_(std::make_unique<References>(*this)),
      contexts_(std::make_unique<Contexts>(*this)),
      shards_(std::make_unique<Shards>(*this)),
      collectives_(std::make_unique<Collectives>(*this)),
      actors_(std::make_unique<Actors>()) {}

void NodeCore::begin() {
  const RouterOptions options{.packing = packing_, .session = session_options(peer_limits_)};
  RouterSetting setting{self(), surroundings_.get(), &lives_, options, clock_.get(), [this](TimePoint due) { wake_router_at(due); },
                        [this](Error why) { fail(std::move(why)); }};
  const ActorHost::Lost lost = setting.failed;
  actors_->router = host_->spawn("the router", lost, router_actor, std::move(setting));
  actors_->worker = host_->spawn("the worker", lost, worker_actor, this);
  link_->start(*this);
}

NodeCore::~NodeCore() { std::ignore = stop(clock_->now()); }

void NodeCore::request(Request request, AnswerHandler done) {
  Error gone = stopped_error(request.to, request.operation);
  if (stopped()) {
    done(std::move(gone));
    return;
  }
  requests_started_.fetch_add(1, std::memory_order_acq_rel);
  traffic_.called(request.to);
  const auto dropped = [node = weak_from_this(), gone = std::move(gone)](const AnswerHandler& untold) {
    Error why = gone;
    if (const auto core = node.lock(); core && !core->stopped()) {
      why.code = ErrorCode::resource_exhausted;
      why.message = "the node had no memory to send it";
    }
    untold(std::move(why));
  };
  PackedRequest packed{{}, RequestId{next_request_.fetch_add(1, std::memory_order_relaxed)},
                       posting_of(request.message, request.actor, request.nested), {}};
  if (request.to != name_) {
    const msg::Envelope envelope{name_, request.to + "/" + request.actor, packed.id, {}};
    auto parcel = pack_message(envelope, request.message, packing_);
    if (!parcel) {
      Error error = parcel.error();
      error.peer = request.to;
      error.operation = request.operation;
      error.execution = Execution::never;
      done(std::move(error));
      return;
    }
    packed.parcel = std::move(parcel).value();
    request.message = {};
  }
  packed.request = std::move(request);
  host_->send(actors_->router, SendRequest{std::move(packed), ToldOnce<Result<msg::AnyMessage>>(std::move(done), dropped)});
}

void NodeCore::notify(const NodeName& to, std::string actor, msg::AnyMessage message) {
  send_notification(to, std::nullopt, std::move(actor), std::move(message));
}

void NodeCore::notify(const NodeLife& to, std::string actor, msg::AnyMessage message) {
  send_notification(to.name, to.incarnation, std::move(actor), std::move(message));
}

void NodeCore::send_notification(NodeName to, std::optional<Incarnation> life, std::string actor, msg::AnyMessage message) {
  if (stopped()) return;
  if (to == name_) return host_->send(actors_->router, SendNotificationToSelf{std::move(actor), std::move(message)});
  const msg::Envelope envelope{name_, to + "/" + actor, {}, {}};
  auto parcel = pack_message(envelope, message, packing_);
  if (!parcel) {
    spdlog::warn("[{}] {} to {} was not sent: {}", name_, msg::word_of(message).name, to, parcel.error().text());
    return;
  }
  host_->send(actors_->router, SendNotification{std::move(to), life, std::move(parcel).value()});
}

void NodeCore::send_answer(const NodeLife& to, RequestId request, msg::AnyMessage message) {
  if (stopped()) return;
  if (to.name == name_) return host_->send(actors_->router, SendAnswerToSelf{request, std::move(message)});
  const msg::Envelope envelope{name_, to.name + "/router", {}, request};
  auto parcel = pack_message(envelope, message, packing_);
  if (!parcel) {
    if (const auto* reply = std::get_if<msg::Reply>(&message)) {  // nobody will ever get what it hands out
      for (const msg::RRefHandout& handout : reply->value.refs) references_->take_back(handout);
    }
    Error error = parcel.error();
    error.peer = name_;
    error.execution = Execution::yes;
    parcel = pack_message(envelope, msg::Failure{std::move(error)}, packing_);
  }
  accounts_->answers.sent(to, parcel.value().bytes);
  host_->send(actors_->router, SendAnswer{to, std::move(parcel).value()});
}

void NodeCore::run(std::string label, std::function<void()> job, std::function<void(const Error&)> refused,
                   msg::Priority priority) {
  auto tell = [name = name_, refused = std::move(refused)](Error error) {
    error.peer = name;
    refused(error);
  };
  std::ignore = executor_->submit({std::move(label), std::move(job), priority, std::move(tell)});
}

void NodeCore::give_up(const NodeName& peer, std::string_view why) {
  spdlog::warn("[{}] the session with {} ends: {}", name_, peer, why);
  link_->disconnect(peer, {});
}

bool NodeCore::is_up(const NodeName& peer) const { return peer == name_ || membership_->is_up(peer); }

NodeCounts NodeCore::counts() const {
  NodeCounts counts;
  counts.pending_requests = actors_->pending_requests.load(std::memory_order_acquire);
  counts.served_calls = served_calls_.size();
  counts.waiting_calls = waiting_calls_.size();
  counts.owned_values = references_->owned_values();
  counts.handles = references_->handles();
  counts.contexts = contexts_->size();
  counts.shards = shards_->size();
  return counts;
}

std::vector<std::string> NodeCore::oldest_requests() const {
  constexpr std::size_t kLines = 8;
  Survey<PendingCall> survey(future_home());
  list_requests(kLines, survey.form());
  std::vector<std::string> lines;
  for (const PendingCall& call : survey.wait(std::chrono::milliseconds(200)).answers) {
    lines.push_back(fmt::format("{} to {}, {:.1f} s", call.operation, call.peer.name,
                                std::chrono::duration<double>(clock_->now() - call.started).count()));
  }
  return lines;
}

void NodeCore::list_requests(std::size_t count, const Survey<PendingCall>::Form& form) const {
  host_->send(actors_->router, ListOldest{count, form});
}

std::optional<Future<void>> NodeCore::end(const Error& why) {
  if (stopped_.exchange(true, std::memory_order_acq_rel)) return std::nullopt;
  membership_->stop(why);
  collectives_->stop(why);
  contexts_->stop(why);
  shards_->stop(why);
  references_->stop(why);
  served_calls_.stop();
  std::ignore = accounts_->answers.stop();
  for (const Delivery& delivery : calls_of_peers_.end()) delivery.answer.fail(why);
  host_->send(actors_->worker, StopWorking{});
  Promise<void> routing_stopped(future_home());
  Future<void> said_goodbye = routing_stopped.future();
  host_->send(actors_->router, StopRouting{why, std::move(routing_stopped)});
  return said_goodbye;
}

void NodeCore::close_link() {
  std::call_once(link_closed_, [this] { link_->stop(); });
}

std::vector<std::string> NodeCore::stop(TimePoint due) {
  const auto said_goodbye = end(stopped_error(name_, {}));
  if (torn_down_.exchange(true, std::memory_order_acq_rel)) return {};
  if (said_goodbye) static_cast<void>(said_goodbye->get_for(due - clock_->now()));
  close_link();
  std::vector<std::string> left;
  for (const RunningJob& job : executor_->stop(due)) {
    left.push_back(fmt::format("{}: {} has run for {:.1f} s", name_, job.label, std::chrono::duration<double>(job.age).count()));
  }
  std::vector<std::string> running = host_->stop(due);
  if (!running.empty()) kept_ = weak_from_this().lock();
  for (std::string& line : running) left.push_back(name_ + ": " + std::move(line));
  return left;
}

void NodeCore::fail(Error why) noexcept {
  if (stopped()) return;
  why.peer = name_;
  why.incarnation = incarnation_;
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_) return;
    failure_ = why;
  }
  spdlog::critical("[{}] the node ends: {}", name_, why.text());
  const auto said_goodbye = end(why);
  if (!said_goodbye) return;
  // On the pool: the thread that is here may be the link's own.
  said_goodbye->state().on_done([node = weak_from_this()](const Error* refused) {
    const auto core = node.lock();
    if (core && refused == nullptr) core->close_link();
  });
}

std::optional<Error> NodeCore::failure() const {
  std::lock_guard lock(failure_mutex_);
  return failure_;
}

bool NodeCore::first_warning_at(const SourceLocation& site) {
  std::lock_guard lock(warned_mutex_);
  return warned_.emplace(site.file_name(), site.line()).second;
}

Error NodeCore::error(ErrorCode code, const NodeName& peer, std::string operation, std::string message) const {
  Error error;
  error.code = code;
  error.peer = peer;
  if (peer == name_) error.incarnation = incarnation_;
  error.operation = std::move(operation);
  error.message = std::move(message);
  return error;
}

Error NodeCore::stopped_error(const NodeName& peer, const std::string& operation) const {
  if (auto failed = failure()) {
    Error error = this->error(failed->code, peer, operation, fmt::format("node {} has failed: {}", name_, failed->message));
    error.cause = failed->text();
    return error;
  }
  Error error = this->error(ErrorCode::shutting_down, peer, operation, fmt::format("node {} has shut down", name_));
  error.execution = Execution::maybe;
  return error;
}

void NodeCore::on_link_up(const Peer& peer) {
  silences_.ended(peer.name);
  if (!stopped()) host_->send(actors_->router, LinkCameUp{peer});
}

void NodeCore::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) {
  traffic_.received(from, frames);
  // Checked here, not in the router's turn: what is damaged counts as lost, and is sent again.
  if (packing_.hashed && !is_intact(frames)) {
    traffic_.damaged_by(from);
    return;
  }
  if (!stopped()) host_->send(actors_->router, FramesCame{from, incarnation, std::move(frames)});
}

void NodeCore::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  if (!stopped()) host_->send(actors_->router, LinkWentDown{peer, incarnation, why});
}

void NodeCore::on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  if (change == Reach::unreachable) {
    silences_.began(peer, clock_->now() - silence);
  } else {
    silences_.ended(peer);
  }
  if (!stopped()) host_->send(actors_->router, PeerReached{peer, incarnation, change, silence});
}

void NodeCore::on_connect_failed(std::string_view address, const Error& why) {
  if (!stopped()) membership_->connect_failed(std::string(address), why);
}

void NodeCore::on_link_failed(const Error& why) { fail(why); }

void NodeCore::release_calls() {
  calls_of_peers_.open([this](Delivery delivery) { dispatch(std::move(delivery)); });
}

void NodeCore::deliver(Delivery delivery) {
  const bool is_call = std::visit(
      [](const auto& message) { return is_one_of<std::decay_t<decltype(message)>, msg::Call, msg::RemoteCall, msg::ValueCall>; },
      delivery.message);
  if (!is_call || !calls_of_peers_.keep(delivery)) dispatch(std::move(delivery));
}

/// What is lacking for a request fails that request. A word that nobody answers would be lost: that ends the node.
void NodeCore::dispatch(Delivery delivery) {
  const ReturnAddress answer = delivery.answer;
  try {
    hand_on(std::move(delivery));
  } catch (...) {
    if (!answer.expected()) throw;
    Error why = failure_of_current_exception("deliver");
    why.execution = Execution::never;
    answer.fail(std::move(why));
  }
}

void NodeCore::hand_on(Delivery delivery) {
  std::visit(
      [&](const auto& message) {
        using M = std::decay_t<decltype(message)>;
        using namespace msg;
        if constexpr (std::is_same_v<M, Call>) {
          if (is_for_collectives(delivery.envelope.to)) return collectives_->handle(delivery);
          host_->send(actors_->worker, CallArrived{std::move(delivery)});
        } else if constexpr (std::is_same_v<M, CallCancelled>) {
          served_calls_.cancelled({delivery.from, delivery.incarnation}, message.request);
        } else if constexpr (is_one_of<M, RemoteCall, ValueCall, RRefFetch, RRefForked, RRefDeleted, RRefForkAck, RRefRevoked,
                                       RRefChanged>) {
          references_->handle(std::move(delivery));
        } else if constexpr (is_one_of<M, BackwardMark, BackwardRun, BackwardGradients, BackwardFinished, ContextAborted,
                                       ContextReleased, ContextEntered>) {
          contexts_->handle(std::move(delivery));
        } else if constexpr (is_one_of<M, ShardCreate, ShardPrepare, ShardCommit, ShardAbort, ShardStep, ShardQuery,
                                       ShardReleased>) {
          shards_->handle(std::move(delivery));
        } else if constexpr (is_one_of<M, MemberJoin, MemberList, MemberJoined, MemberLeft, ShutdownReady, ShutdownCount,
                                       ShutdownAgreed, BarrierEntered, BarrierLeft>) {
          membership_->handle(std::move(delivery));
        } else {
          spdlog::warn("[{}] dropped a {} from {}: it answers nothing that was asked", name_, M::kWord.name, delivery.from);
        }
      },
      delivery.message);
}

void NodeCore::peer_down(const Peer& peer, const Error& why) {
  const bool is_news = why.code != ErrorCode::shutting_down && !departures_expected_.load(std::memory_order_relaxed);
  spdlog::log(is_news ? spdlog::level::warn : spdlog::level::debug, "[{}] {} is gone: {}", name_, peer.name, why.message);
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

void NodeCore::wake_router_at(TimePoint due) {
  clock_->at(due, [weak = weak_from_this()] {
    const auto node = weak.lock();
    if (node && !node->stopped()) node->host_->send(node->actors_->router, TickCame{});
  });
}

}  // namespace troupe::detail
