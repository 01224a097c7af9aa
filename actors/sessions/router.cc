#include "actors/sessions/router.h"

#include <fmt/format.h>

#include <new>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/core/guarded.h"
#include "actors/future.h"
#include "actors/sessions/packed_message.h"
#include "messages/did_you_mean.h"

namespace troupe::detail {
namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

void describe(Error& error, const CallTable<WaitingRequest>::Call& call, TimePoint now) {
  if (error.peer.empty()) {
    error.peer = call.peer.name;
    error.incarnation = call.peer.incarnation;
  }
  if (error.operation.empty()) error.operation = call.operation;
  error.elapsed_us = std::chrono::duration_cast<std::chrono::microseconds>(now - call.started).count();
}

void fail(CallTable<WaitingRequest>::Call& call, Error error, TimePoint now) {
  describe(error, call, now);
  call.entry.done(std::move(error));
}

Error too_many_of_self(std::size_t max) {
  return {
      .code = ErrorCode::resource_exhausted,
      .message = fmt::format(
          "{0} calls of this node to itself wait for earlier ones to start, at most {0} (peer.waiting_calls_max)", max),
      .execution = Execution::never};
}

}  // namespace

Router::Router(Peer self, Callbacks& callbacks, Lives& lives, RouterOptions options)
    : self_(std::move(self)),
      callbacks_(callbacks),
      lives_(lives),
      options_(options),
      self_account_(std::make_shared<CreditAccount>(callbacks.grant_soon({self_.name, self_.incarnation}))) {}

void Router::request(TimePoint now, PackedRequest packed, AnswerHandler done) {
  Request& request = packed.request;
  const auto known = peers_.find(request.to);
  const bool local = request.to == self_.name;
  if (stopped_ || (!local && known == peers_.end())) {
    done(refusal(request.to, request.operation));
    return;
  }
  if (request.due && *request.due <= now) {
    Error late = refusal(request.to, request.operation);
    late.code = ErrorCode::timeout;
    late.message = "the deadline had passed before the request was sent";
    late.hint.clear();
    done(std::move(late));
    return;
  }
  const RequestId id = packed.id;
  const Peer& peer = local ? self_ : known->second.peer;
  if (!request.life && packed.parcel) request.life = packed.parcel->shared_with;
  if (request.life && *request.life != peer.incarnation) return done(of_another_life(request));
  if (!local && request.fails_if_unreachable && known->second.silent_since) {
    Error silent = refusal(request.to, request.operation);
    silent.code = ErrorCode::peer_unreachable;
    silent.message = unheard_for(known->second, now);
    silent.hint.clear();
    return done(std::move(silent));
  }
  calls_.add(id, {peer.name, peer.incarnation}, request.due, request.operation, now,
             {std::move(done), nullptr, request.fails_if_unreachable, request.failure_as_message,
              packed.posting.of != Posting::Class::word},
             request.site);
  callbacks_.pending_changed(calls_.size());
  if (!request.cancelled_by.empty()) {
    auto watch = std::make_unique<StopWatch>(request.cancelled_by, [this, id] { callbacks_.cancel_soon(id); });
    calls_.find(id)->entry.watch = std::move(watch);
  }
  if (local) return request_self(now, std::move(packed));
  packed.posting.request = id;
  packed.posting.due = request.due;
  auto sent = known->second.session->send(now, *std::move(packed.parcel), std::move(packed.posting));
  if (sent) return put_on_link(known->second, std::move(sent).value());
  if (auto call = calls_.cancel(id)) {
    callbacks_.pending_changed(calls_.size());
    Error error = sent.error();
    error.execution = Execution::never;
    fail(*call, std::move(error), now);
  }
}

bool Router::refuse(TimePoint now, RequestId request, Error why) {
  auto call = calls_.cancel(request);
  if (!call) return false;
  callbacks_.pending_changed(calls_.size());
  why.operation.clear();
  const auto peer = peers_.find(call->peer.name);
  const bool has_session = peer != peers_.end();
  const bool is_kept = has_session && peer->second.session->has(request);
  const bool is_unsent = call->entry.is_call && (has_session || call->peer.name == self_.name);
  // A session keeps a call before it sends any of it.
  const bool never_ran = is_kept ? take_back(now, *call).has_value() : is_unsent && !call->entry.is_delivered;
  if (never_ran) why.execution = Execution::never;
  fail(*call, std::move(why), now);
  return true;
}

void Router::request_self(TimePoint now, PackedRequest packed) {
  if (packed.posting.of == Posting::Class::word) {
    msg::Envelope envelope{self_.name, self_.name + "/" + packed.request.actor, packed.id, {}};
    return callbacks_.deliver(self_, std::move(envelope), std::move(packed.request.message), packed.request.due,
                              nullptr);
  }
  if (self_calls_[0].waiting.size() + self_calls_[1].waiting.size() >= options_.session.waiting_calls_max) {
    if (auto call = calls_.cancel(packed.id)) {
      callbacks_.pending_changed(calls_.size());
      fail(*call, too_many_of_self(options_.session.waiting_calls_max), now);
    }
    return;
  }
  packed.request.nested = packed.posting.of == Posting::Class::nested_call;
  self_calls(packed.request.nested ? Charge::nested : Charge::call)
      .waiting.emplace(packed.id, std::move(packed.request));
  admit_self(now);
}

/// Delivers as many calls of this node to itself as it would grant a peer. One whose delivery gets no memory fails.
void Router::admit_self(TimePoint now) {
  for (const Charge charge : {Charge::call, Charge::nested}) {
    SelfCalls& calls = self_calls(charge);
    const SessionGrants& grants = options_.session.grants;
    const std::uint64_t at_once = charge == Charge::nested ? grants.nested : grants.calls;
    while (!calls.waiting.empty() && calls.sent - self_account_->calls(charge) < at_once) {
      const auto first = calls.waiting.begin();
      const RequestId id = first->first;
      auto* const call = calls_.find(id);
      if (call == nullptr) {  // ended meanwhile
        calls.waiting.erase(first);
        continue;
      }
      msg::Envelope envelope{self_.name, self_.name + "/" + first->second.actor, id, {}};
      auto credit = std::make_shared<CallCredit>(self_account_, charge, 0);
      Request request = std::move(calls.waiting.extract(first).mapped());
      ++calls.sent;
      call->entry.is_delivered = true;
      try {
        callbacks_.deliver(self_, std::move(envelope), std::move(request.message), request.due, std::move(credit));
      } catch (const std::bad_alloc&) {  // perhaps not the request that is being handled
        static_cast<void>(refuse(now, id, failure_of_current_exception("the router")));
      }
    }
    if (!calls.waiting.empty()) self_account_->tell_at(charge, self_account_->calls(charge) + 1);
  }
  tell_load_of_self();
}

void Router::tell_load_of_self() {
  PeerLoad load{.begun = self_account_};
  for (const SelfCalls& calls : self_calls_) {
    load.waiting_calls += calls.waiting.size();
    load.received += calls.sent;
  }
  if (load == self_load_) return;
  self_load_ = load;
  callbacks_.load_changed(self_.name, load);
}

void Router::cancel(TimePoint now, RequestId request) {
  auto call = calls_.cancel(request);
  if (!call) return;
  callbacks_.pending_changed(calls_.size());
  Error error = cancelled_by_caller();
  if (take_back(now, *call)) error.execution = Execution::never;
  fail(*call, std::move(error), now);
}

/// Stops a call whose answer is no longer needed, or notifies its callee. Returns what the call waited for if it never
/// ran and never will; nullopt if it may have run.
std::optional<std::string> Router::take_back(TimePoint now, const CallTable<WaitingRequest>::Call& call) {
  if (call.peer.name == self_.name) {
    for (SelfCalls& calls : self_calls_) {
      if (calls.waiting.erase(call.request) == 0) continue;
      tell_load_of_self();
      return "this node to start earlier calls of its own";
    }
    callbacks_.deliver(self_, {self_.name, self_.name + "/worker", {}, {}}, msg::CallCancelled{call.request},
                       std::nullopt, nullptr);
    return std::nullopt;
  }
  const auto peer = peers_.find(call.peer.name);
  if (peer == peers_.end() || peer->second.peer.incarnation != call.peer.incarnation) return std::nullopt;
  Session::TakenBack taken = peer->second.session->take_back(now, call.request);
  put_on_link(peer->second, std::move(taken.on_link));
  if (taken.in_time)
    return taken.granted ? "the connection to take it" : fmt::format("{} to start earlier calls", call.peer.name);
  say(now, peer->second, "worker", {}, msg::CallCancelled{call.request});
  return std::nullopt;
}

void Router::notify(TimePoint now, const NodeName& to, std::optional<Incarnation> life, Parcel parcel, Haste haste) {
  const auto peer = peers_.find(to);
  if (!life) life = parcel.shared_with;
  // Not up: peer_down reports that.
  if (stopped_ || peer == peers_.end() || (life && *life != peer->second.peer.incarnation)) return;
  Session& session = *peer->second.session;
  const bool rides = haste == Haste::rides || (haste == Haste::follows && !session.is_express_idle());
  auto sent = rides ? session.ride(now, std::move(parcel)) : session.send(now, std::move(parcel));
  if (sent) put_on_link(peer->second, std::move(sent).value());
}

void Router::notify_self(const std::string& actor, msg::AnyMessage message) {
  if (stopped_) return;
  callbacks_.deliver(self_, {self_.name, self_.name + "/" + actor, {}, {}}, std::move(message), std::nullopt, nullptr);
}

void Router::answer(TimePoint now, const NodeLife& to, PackedAnswer answer) {
  const auto peer = peers_.find(to.name);
  if (peer == peers_.end() || peer->second.peer.incarnation != to.incarnation) return;  // the requester is gone
  if (!answer.parcel.is_small() && std::erase(peer->second.unawaited, answer.request) > 0) {
    // Cancelled while it was being encoded.
    AnswerTotals taken;
    taken.add(answer.parcel);
    if (answer.undo) answer.undo();
    return callbacks_.answers_taken(to, taken);
  }
  Posting posting{.of = Posting::Class::answer, .request = answer.request, .undo = std::move(answer.undo)};
  auto sent = peer->second.session->send(now, std::move(answer.parcel), std::move(posting));
  if (sent) put_on_link(peer->second, std::move(sent).value());
}

void Router::answer_self(TimePoint now, RequestId request, msg::AnyMessage message) {
  complete(now, request, {self_.name, self_.incarnation}, std::move(message));
}

/// Sends a control message of the router itself.
void Router::say(TimePoint now, PeerState& peer, const std::string& actor, RequestId answers,
                 const msg::AnyMessage& message) {
  const msg::Envelope envelope{self_.name, peer.peer.name + "/" + actor, {}, answers};
  auto parcel = pack_message(envelope, message, options_.packing);
  if (!parcel)
    return callbacks_.warn(
        fmt::format("{} to {} was not sent: {}", msg::info_of(message).name, peer.peer.name, parcel.error().text()));
  auto sent = peer.session->send(now, std::move(parcel).value());
  if (sent) put_on_link(peer, std::move(sent).value());
}

void Router::grant(TimePoint now, const NodeLife& peer) {
  if (peer.name == self_.name) return admit_self(now);
  const auto known = peers_.find(peer.name);
  if (known == peers_.end() || known->second.peer.incarnation != peer.incarnation) return;
  take(now, known->second, known->second.session->grant());
}

void Router::link_up(TimePoint now, const Peer& peer) {
  if (stopped_) return;
  // A life that was declared over stays over: its sessions and forks are gone here. The node must return with a new
  // one.
  if (const auto over = lives_.why_over(NodeLife{peer.name, peer.incarnation})) {
    return callbacks_.give_up(peer.name, you_are_dead(peer.incarnation, *over));
  }
  const auto known = peers_.find(peer.name);
  if (known != peers_.end()) {
    if (known->second.peer.incarnation == peer.incarnation) return;  // the same session continues over a new connection
    lose(now, peer.name, make_error(ErrorCode::peer_restarted, "a new incarnation has taken its name"));
  }
  lives_.begin(peer);
  const NodeLife life{peer.name, peer.incarnation};
  auto session =
      std::make_unique<Session>(self_.incarnation, peer.incarnation, options_.session, callbacks_.grant_soon(life));
  peers_[peer.name] = {peer, std::move(session)};
  callbacks_.peer_up(peer);
}

void Router::link_down(TimePoint now, const NodeName& peer, Incarnation incarnation, const Error& why) {
  const auto known = peers_.find(peer);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;
  lose(now, peer, why);
}

void Router::complete(TimePoint now, RequestId request, const NodeLife& from, msg::AnyMessage message) {
  auto call = calls_.take(request, from);
  if (!call) return callbacks_.came_late(from, std::move(message));  // late, a duplicate, or from another peer
  callbacks_.pending_changed(calls_.size());
  if (const auto peer = peers_.find(from.name); peer != peers_.end() && peer->second.session->waiting_calls() > 0) {
    // Answered before it was sent completely: the rest need not be sent.
    put_on_link(peer->second, peer->second.session->take_back(now, request).on_link);
  }
  if (auto* failure = message.get_if<msg::Failure>()) {
    describe(failure->error, *call, now);
    if (failure->unread || !call->entry.failure_as_message) return call->entry.done(std::move(failure->error));
  }
  call->entry.done(std::move(message));
}

void Router::tick(TimePoint now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    PeerState& peer = peers_.at(due_.begin()->second);
    due_.erase(due_.begin());
    peer.due.reset();
    put_on_link(peer, peer.session->tick(now));
  }
  auto expired = calls_.expire(now);
  if (!expired.empty()) callbacks_.pending_changed(calls_.size());
  for (auto& call : expired) {
    Error timeout;
    timeout.code = ErrorCode::timeout;
    timeout.message = fmt::format("no answer within {} ms",
                                  std::chrono::ceil<std::chrono::milliseconds>(*call.deadline - call.started).count());
    const auto waited_for = take_back(now, call);
    timeout.execution = waited_for ? Execution::never : Execution::maybe;
    if (waited_for) timeout.message += ": it waited for " + *waited_for;
    timeout.message += silence_of(call.peer.name, now);
    fail(call, std::move(timeout), now);
  }
}

void Router::reach(TimePoint now, const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  const auto known = peers_.find(peer);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;  // an earlier life
  known->second.silent_since = change == Reach::unreachable ? std::optional(now - silence) : std::nullopt;
  if (change == Reach::unreachable) fail_those_that_do_not_wait(now, known->second);
  if (change != Reach::down) return;
  const Error down = make_error(ErrorCode::peer_down, fmt::format("nothing heard for {:.1f} s", seconds(silence)));
  lose(now, peer, down);
  callbacks_.give_up(peer, you_are_dead(incarnation, down));
}

void Router::fail_those_that_do_not_wait(TimePoint now, const PeerState& peer) {
  const std::string message = unheard_for(peer, now);
  auto calls = calls_.fail_peer({peer.peer.name, peer.peer.incarnation},
                                [](const WaitingRequest& waiting) { return waiting.fails_if_unreachable; });
  if (!calls.empty()) callbacks_.pending_changed(calls_.size());
  for (auto& call : calls) {
    Error error;
    error.code = ErrorCode::peer_unreachable;
    error.message = message;
    error.execution = take_back(now, call) ? Execution::never : Execution::maybe;
    fail(call, std::move(error), now);
  }
}

/// Returns "b has been unreachable for 4.2 s". REQUIRES: it is unreachable.
std::string Router::unheard_for(const PeerState& peer, TimePoint now) const {
  return fmt::format("{} has been unreachable for {:.1f} s", peer.peer.name, seconds(now - *peer.silent_since));
}

/// Returns ", b has been unreachable for 4.2 s" for the error of a call, or nothing.
std::string Router::silence_of(const NodeName& peer, TimePoint now) const {
  const auto known = peers_.find(peer);
  return known == peers_.end() || !known->second.silent_since ? std::string() : ", " + unheard_for(known->second, now);
}

// Returns the farewell for a life that was declared over.
Farewell Router::you_are_dead(Incarnation life, const Error& why) const {
  return {ErrorCode::you_are_dead, fmt::format("node {} took this node for dead: {}", self_.name, why.message), life};
}

std::optional<TimePoint> Router::next_due() {
  std::optional<TimePoint> next = calls_.next_deadline();
  const auto consider = [&next](std::optional<TimePoint> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  if (!due_.empty()) consider(due_.begin()->first);
  return next;
}

void Router::stop(TimePoint now, const Error& why) {
  if (stopped_) return;
  stopped_ = why;
  for (auto& [name, state] : peers_) {
    put_on_link(state, state.session->send_riders(now));
    Session::Packet goodbye = state.session->goodbye();
    callbacks_.transmit(name, goodbye.lane, std::move(goodbye.frames));
  }
  auto unanswered = calls_.fail_all();
  callbacks_.pending_changed(0);
  for (auto& call : unanswered) fail(call, why, now);
}

void Router::put_on_link(PeerState& peer, Session::Packets packets) {
  for (Session::Packet& packet : packets) callbacks_.transmit(peer.peer.name, packet.lane, std::move(packet.frames));
  peer.session->reuse(std::move(packets));
  schedule(peer);
  tell_load(peer);
}

void Router::tell_load(PeerState& peer) {
  const Session& session = *peer.session;
  const bool same = peer.load.waiting_calls == session.waiting_calls() &&
                    peer.load.waiting_bytes == session.waiting_bytes() &&
                    peer.load.received == session.received_calls();
  if (same) return;
  peer.load = {session.waiting_calls(), session.waiting_bytes(), session.received_calls(), session.account()};
  callbacks_.load_changed(peer.peer.name, peer.load);
}

/// Records when the session has work next, so that other messages need not look for it.
void Router::schedule(PeerState& peer) {
  const auto due = peer.session->next_due();
  if (due == peer.due) return;
  if (peer.due && due) {
    auto place = due_.extract({*peer.due, peer.peer.name});
    place.value().first = *due;
    due_.insert(std::move(place));
  } else if (peer.due) {
    due_.erase({*peer.due, peer.peer.name});
  } else {
    due_.emplace(*due, peer.peer.name);
  }
  peer.due = due;
}

void Router::lose(TimePoint now, const NodeName& name, const Error& why) {
  const auto known = peers_.find(name);
  const Peer peer = known->second.peer;
  std::set<RequestId> never_left;
  for (const Session::Unacknowledged& call : known->second.session->close()) {
    if (!call.left) never_left.insert(call.request);
  }
  if (known->second.due) due_.erase({*known->second.due, name});
  peers_.erase(known);
  Error error = why;
  error.peer = name;
  error.incarnation = peer.incarnation;
  error.endpoint = peer.address;
  lives_.end({name, peer.incarnation}, error);
  callbacks_.peer_down(peer, error);  // first: by then references fail like the calls
  auto unanswered = calls_.fail_peer({name, peer.incarnation});
  callbacks_.pending_changed(calls_.size());
  for (auto& call : unanswered) {
    Error failure = error;
    failure.operation.clear();
    failure.execution = never_left.contains(call.request) ? Execution::never : Execution::maybe;
    fail(call, std::move(failure), now);
  }
}

Error Router::of_another_life(const Request& request) const {
  const NodeLife meant{request.to, *request.life};
  Error error = lives_.why_over(meant).value_or(Error{});
  error.code = ErrorCode::peer_restarted;
  error.message = "the life of it that is meant is over";
  error.peer = meant.name;
  error.incarnation = meant.incarnation;
  error.operation = request.operation;
  error.execution = Execution::never;
  return error;
}

Error Router::refusal(const NodeName& to, const std::string& operation) const {
  Error error;
  if (stopped_) {
    error = *stopped_;
  } else if (const auto lost = lives_.why_over(to)) {
    error = *lost;
  } else {
    error.code = ErrorCode::not_joined;
    std::vector<std::string_view> known{self_.name};
    for (const auto& [name, state] : peers_) known.push_back(name);
    error.message = "no node of that name is in this cluster" + did_you_mean(to, known);
    for (const auto& [name, state] : peers_) error.hint += (error.hint.empty() ? "known: " : ", ") + name;
    if (error.hint.empty()) error.hint = "this node is alone";
  }
  error.peer = to;
  error.operation = operation;
  error.execution = Execution::never;
  error.elapsed_us = 0;
  return error;
}

}  // namespace troupe::detail
