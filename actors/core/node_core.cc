#include "actors/core/node_core.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <tuple>
#include <utility>

#include "actors/core/error_not_run.h"
#include "actors/core/routing.h"
#include "actors/sessions/packed_message.h"

namespace troupe::detail {

/// Passes on the answer to a request. If the request is dropped without one, the handler is told why.
class NodeCore::UnansweredRequest final : public AnswerReceiver {
 public:
  UnansweredRequest(std::weak_ptr<NodeCore> node, NodeName name, const Request& request, AnswerHandler done)
      : node_(std::move(node)),
        name_(std::move(name)),
        to_(request.to),
        operation_(request.operation),
        done_(std::move(done)) {}
  ~UnansweredRequest() override {
    if (done_) std::exchange(done_, std::nullopt)->operator()(why_dropped());  // throws nothing: see AnswerReceiver
  }
  UnansweredRequest(const UnansweredRequest&) = delete;
  UnansweredRequest& operator=(const UnansweredRequest&) = delete;

  void answered(Result<msg::AnyMessage> answer) override {
    if (const auto done = std::exchange(done_, std::nullopt)) (*done)(std::move(answer));
  }

 private:
  [[nodiscard]] Error why_dropped() const noexcept {
    const auto core = node_.lock();
    Error why;
    why.code = core && !core->stopped() ? ErrorCode::resource_exhausted : ErrorCode::shutting_down;
    try {
      why.peer = to_;
      why.operation = operation_;
      if (!core) why.message = fmt::format("node {} has shut down", name_);
      else if (!core->stopped()) why.message = "the node had no memory to send it";
      else why = core->stopped_error(to_, operation_);
    } catch (const std::bad_alloc&) {
      set_text(why.message, "out of memory");
    }
    return why;
  }

  const std::weak_ptr<NodeCore> node_;
  const NodeName name_;
  const NodeName to_;
  const std::string operation_;
  std::optional<AnswerHandler> done_;  // the router's turn, or the thread that drops the message
};

void NodeCore::request(Request request, AnswerHandler done) {
  if (stopped()) return done(not_run(stopped_error(request.to, request.operation)));
  requests_started_.fetch_add(1, std::memory_order_acq_rel);
  traffic_.called(request.to);
  PackedRequest packed{{},
                       RequestId{next_request_.fetch_add(1, std::memory_order_relaxed)},
                       posting_of(request.message, request.actor, request.nested),
                       {}};
  if (request.to != name_) {
    const msg::Envelope envelope{name_, request.to + "/" + request.actor, packed.id, {}};
    auto parcel = pack_message(envelope, request.message, packing_, request.to, *link_);
    if (!parcel) {
      Error error = parcel.error();
      error.peer = request.to;
      error.operation = request.operation;
      error.execution = Execution::never;
      done(std::move(error));
      return;
    }
    packed.parcel = std::move(parcel).value();
    request.message.reset();
  }
  Prepared<SendRequest> sent({{}, AnswerHandler(std::shared_ptr<AnswerReceiver>())});  // first: the rest cannot fail
  AnswerHandler unanswered(std::make_shared<UnansweredRequest>(weak_from_this(), name_, request, std::move(done)));
  packed.request = std::move(request);
  sent.message() = SendRequest{std::move(packed), std::move(unanswered)};
  host_->send_prepared(routing_->router, std::move(sent));
}

void NodeCore::notify(const NodeName& to, std::string actor, msg::AnyMessage message, Haste haste) {
  post(to, std::nullopt, std::move(actor), std::move(message), haste);
}

void NodeCore::notify(const NodeLife& to, std::string actor, msg::AnyMessage message, Haste haste) {
  post(to.name, to.incarnation, std::move(actor), std::move(message), haste);
}

void NodeCore::post(NodeName to, std::optional<Incarnation> life, std::string actor, msg::AnyMessage message,
                    Haste haste) {
  if (stopped()) return;
  if (to == name_) return host_->send(routing_->router, SendNotificationToSelf{std::move(actor), std::move(message)});
  const msg::Envelope envelope{name_, to + "/" + actor, {}, {}};
  auto parcel = pack_message(envelope, message, packing_, to, *link_);
  if (!parcel) {
    const ErrorCode why = parcel.error().code;
    if (why == ErrorCode::resource_exhausted || why == ErrorCode::device_out_of_memory) throw std::bad_alloc();
    spdlog::warn("[{}] {} to {} was not sent: {}", name_, msg::info_of(message).name, to, parcel.error().text());
    return;
  }
  host_->send(routing_->router, SendNotification{std::move(to), life, std::move(parcel).value(), haste});
}

void NodeCore::run(std::string label, std::function<void()> job, std::function<void(const Error&)> refused,
                   msg::Priority priority) {
  std::ignore = executor_->submit({std::move(label), std::move(job), priority, own_refusal(std::move(refused))});
}

std::function<void(const Error&)> NodeCore::own_refusal(std::function<void(const Error&)> refused) const {
  return [name = name_, refused = std::move(refused)](const Error& error) {
    Error own = copy_of(error);
    set_text(own.peer, name);
    refused(own);
  };
}

void NodeCore::run_short(std::string label, std::function<void()> job, std::function<void(const Error&)> refused) {
  executor_->run_short({std::move(label), std::move(job), msg::Priority::normal, own_refusal(std::move(refused))});
}

void NodeCore::give_up(const NodeLife& peer, std::string_view why) {
  spdlog::warn("[{}] the session with {} ends: {}", name_, peer.name, why);
  link_->disconnect(peer.name, {.life = peer.incarnation});
}

std::vector<std::string> NodeCore::oldest_work() const {
  constexpr std::size_t kLines = 8;  // of each kind
  const auto seconds = [](Duration age) { return std::chrono::duration<double>(age).count(); };
  Query<PendingCall> query(future_home());
  list_requests(kLines, query.slot());
  std::vector<std::string> lines;
  for (const PendingCall& call : query.wait(std::chrono::milliseconds(200)).answers) {
    lines.push_back(
        fmt::format("{} to {}, {:.1f} s", call.operation, call.peer.name, seconds(clock_->now() - call.started)));
  }
  for (const ServedFunction& function : served_calls_.oldest(kLines)) {
    lines.push_back(fmt::format("{} for {}, {:.1f} s", function.operation, function.caller, seconds(function.age)));
  }
  return lines;
}

void NodeCore::list_requests(std::size_t count, const Query<PendingCall>::ReplySlot& slot) const {
  host_->send(routing_->router, ListOldest{count, slot});
}

void NodeCore::close_link() {
  std::call_once(link_closed_, [this] { link_->stop(); });
}

namespace {

/// Signals at its end, also by an exception: the simulator takes threads away.
struct EndSignal {
  WaitPoint& point;
  ~EndSignal() { point.signal(); }
};

}  // namespace

std::vector<std::string> NodeCore::Routing::stop_pool(const NodeCore& node, TimePoint due) {
  std::vector<std::string> left;
  for (const RunningJob& job : node.executor_->stop(due)) {
    left.push_back(fmt::format("{}: {} has run for {:.1f} s", node.name_, job.label,
                               std::chrono::duration<double>(job.age).count()));
  }
  return left;
}

std::vector<std::string> NodeCore::Routing::wait_for_first_stop(const NodeCore& node, TimePoint due) {
  Routing& routing = *node.routing_;
  if (!routing.first_stop_ended.wait(due))
    return {fmt::format("{}: another thread has not stopped it yet", node.name_)};
  return routing.first_stop_in_own_job ? stop_pool(node, due) : std::vector<std::string>();
}

std::vector<std::string> NodeCore::stop(TimePoint due) {
  if (!is_of_this_process()) return {};
  const bool in_own_job = executor_->runs_this_thread();
  // Before the end of anything: who begins the end waits for the farewells.
  if (torn_down_.exchange(true, std::memory_order_acq_rel))
    return in_own_job ? std::vector<std::string>() : Routing::wait_for_first_stop(*this, due);
  const EndSignal ends{routing_->first_stop_ended};
  routing_->first_stop_in_own_job = in_own_job;
  const auto said_goodbye = end(stopped_error(name_, {}));
  if (said_goodbye)
    static_cast<void>(said_goodbye->get_for(std::max<TimePoint::duration>(due - clock_->now(), kActorsEnd)));
  close_link();
  std::vector<std::string> left = Routing::stop_pool(*this, due);
  if (!routing_->parts_told)
    routing_->parts_told = Routing::end_parts(*this, stopped_error(name_, {}));  // there may be memory now
  std::vector<std::string> running = host_->stop(due);
  if (!running.empty()) kept_ = weak_from_this().lock();
  for (std::string& line : running) left.push_back(name_ + ": " + std::move(line));
  return left;
}

namespace {

void log_end(const NodeName& node, const Error& why) noexcept {
  try {
    spdlog::critical("[{}] the node ends: {}", node, why.text());
  } catch (const std::bad_alloc&) {
    spdlog::critical("a node ends: out of memory");
  }
}

}  // namespace

void NodeCore::fail(Error why) noexcept {
  if (stopped()) return;
  set_text(why.peer, name_);
  why.incarnation = incarnation_;
  {
    std::lock_guard lock(failure_mutex_);
    if (failure_) return;
    failure_ = copy_of(why);
  }
  log_end(name_, why);
  const auto said_goodbye = end(why);
  if (!said_goodbye) return;
  try {
    // On the pool: the calling thread may be the link's own.
    said_goodbye->state().on_done([node = weak_from_this()](const Error* refused) {
      const auto core = node.lock();
      if (core && refused == nullptr) core->close_link();
    });
  } catch (const std::bad_alloc&) {
    spdlog::error("no memory to close the link: stop() does");
  }
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
  if (!is_of_this_process()) {
    return this->error(ErrorCode::shutting_down, peer, operation,
                       fmt::format("the node {} belongs to the process from which this one was forked", name_));
  }
  if (auto failed = failure()) {
    Error error =
        this->error(failed->code, peer, operation, fmt::format("node {} has failed: {}", name_, failed->message));
    error.cause = failed->text();
    return error;
  }
  Error error = this->error(ErrorCode::shutting_down, peer, operation, fmt::format("node {} has shut down", name_));
  error.execution = Execution::maybe;
  return error;
}

void NodeCore::on_link_up(const Peer& peer) {
  silences_.ended(peer.name);
  if (!stopped()) host_->send(routing_->router, LinkUp{peer});
}

// A packet that gets no memory is as one that the link loses: the peer sends it again.
void NodeCore::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) try {
  traffic_.received(from, frames);
  // Checked here, not in the router's turn: a damaged packet counts as lost and is sent again.
  if (packing_.hashed && !is_intact(frames)) {
    traffic_.damaged_by(from);
    return;
  }
  if (!stopped()) host_->send(routing_->router, ReceivedFrames{from, incarnation, std::move(frames)});
} catch (const std::bad_alloc&) {
  return;
}

void NodeCore::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  if (!stopped()) host_->send(routing_->router, LinkDown{peer, incarnation, why});
}

void NodeCore::on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  if (change == Reach::unreachable) {
    silences_.began(peer, clock_->now() - silence);
  } else {
    silences_.ended(peer);
  }
  if (!stopped()) host_->send(routing_->router, PeerReached{peer, incarnation, change, silence});
}

void NodeCore::on_link_failed(const Error& why) { fail(why); }

void NodeCore::release_calls() {
  calls_of_peers_.open([this](Delivery delivery) { dispatch(std::move(delivery)); });
}

void NodeCore::wake_router_at(TimePoint due) {
  const auto tick = std::make_shared<Prepared<TickDue>>(TickDue{});  // here: the router cannot do without it
  clock_->at(due, [weak = weak_from_this(), tick] {
    const auto node = weak.lock();
    if (node && !node->stopped()) node->host_->send_prepared(node->routing_->router, std::move(*tick));
  });
}

}  // namespace troupe::detail
