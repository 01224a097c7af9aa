#include "actors/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "messages/codec.h"

namespace troupe::detail {
namespace {

std::chrono::microseconds remaining(std::optional<TimePoint> due, TimePoint now) {
  if (!due) return std::chrono::microseconds{0};
  // At least 1: zero says that there is no limit.
  return std::max(std::chrono::duration_cast<std::chrono::microseconds>(*due - now), std::chrono::microseconds{1});
}

std::optional<TimePoint> due_of(const msg::Envelope& envelope, TimePoint now) {
  if (envelope.deadline.count() <= 0) return std::nullopt;
  return now + std::min<Duration>(envelope.deadline, std::chrono::hours(24 * 365));
}

void fail(CallTable<WaitingRequest>::Call& call, Error error, TimePoint now) {
  if (error.peer.empty()) {
    error.peer = call.peer.name;
    error.incarnation = call.peer.incarnation;
  }
  if (error.operation.empty()) error.operation = call.operation;
  error.elapsed_us = std::chrono::duration_cast<std::chrono::microseconds>(now - call.started).count();
  call.entry.done(std::move(error));
}

}  // namespace

Router::Router(Peer self, Surroundings& surroundings, Lives& lives, msg::Checksum checksum, FailureDetectorOptions silence)
    : self_(std::move(self)), surroundings_(surroundings), lives_(lives), checksum_(checksum), detector_(silence) {}

void Router::request(TimePoint now, Request request, AnswerHandler done) {
  if (stopped_ || (request.to != self_.name && !peers_.contains(request.to))) {
    done(refusal(request.to, request.operation));
    return;
  }
  if (request.due && *request.due <= now) {
    Error late = refusal(request.to, request.operation);
    late.code = ErrorCode::timeout;
    late.message = "the deadline had passed before the request was sent";
    done(std::move(late));
    return;
  }
  const bool local = request.to == self_.name;
  const Peer& peer = local ? self_ : peers_.at(request.to).peer;
  if (request.life && *request.life != peer.incarnation) return done(of_another_life(request));
  const RequestId id =
      calls_.add({peer.name, peer.incarnation}, request.due, std::move(request.operation), now,
                                 {std::move(done), nullptr}, request.site);
  surroundings_.pending_changed(calls_.size());
  if (!request.cancelled_by.empty()) {
    auto watch = std::make_unique<StopWatch>(request.cancelled_by, [this, id] { surroundings_.cancel_soon(id); });
    calls_.find(id)->entry.watch = std::move(watch);
  }
  msg::Envelope envelope{self_.name, request.to + "/" + request.actor, id, {}, remaining(request.due, now), {}};
  if (local) {
    surroundings_.deliver(self_, std::move(envelope), std::move(request.message), request.due);
    return;
  }
  const auto give_back = [&](Error error) {
    if (auto call = calls_.cancel(id)) {
      surroundings_.pending_changed(calls_.size());
      error.execution = Execution::never;
      fail(*call, std::move(error), now);
    }
  };
  auto frames = msg::encode(envelope, request.message, checksum_);
  if (!frames) return give_back(frames.error());
  auto sent = peers_.at(request.to).session->send(now, std::move(frames).value());
  if (!sent) return give_back(sent.error());
  put_on_link(now, request.to, std::move(sent.value().on_link));
}

void Router::cancel(TimePoint now, RequestId request) {
  auto call = calls_.cancel(request);
  if (!call) return;
  surroundings_.pending_changed(calls_.size());
  notify(now, call->peer.name, call->peer.incarnation, "worker", msg::CallCancelled{request});
  fail(*call, cancelled_by_caller(), now);
}

void Router::notify(TimePoint now, const NodeName& to, std::optional<Incarnation> life, std::string actor,
                    msg::AnyMessage message) {
  if (stopped_) return;
  msg::Envelope envelope{self_.name, to + "/" + actor, {}, {}, {}, {}};
  if (to == self_.name) {
    surroundings_.deliver(self_, std::move(envelope), std::move(message), std::nullopt);
    return;
  }
  const auto peer = peers_.find(to);
  if (peer == peers_.end() || (life && *life != peer->second.peer.incarnation)) return;  // gone: peer_down tells of it
  auto frames = msg::encode(envelope, message, checksum_);
  if (!frames) {
    surroundings_.warn(fmt::format("{} to {} was not sent: {}", msg::word_of(message).name, to, frames.error().text()));
    return;
  }
  auto sent = peer->second.session->send(now, std::move(frames).value(), Session::Admission::always);
  if (sent) put_on_link(now, to, std::move(sent.value().on_link));
}

void Router::answer(TimePoint now, const NodeLife& to, RequestId request, msg::AnyMessage message) {
  if (to.name == self_.name) return complete(now, request, to, std::move(message));
  const auto peer = peers_.find(to.name);
  if (peer == peers_.end() || peer->second.peer.incarnation != to.incarnation) return;  // the requester is gone
  msg::Envelope envelope{self_.name, to.name + "/router", {}, request, {}, {}};
  auto frames = msg::encode(envelope, message, checksum_);
  if (!frames) {
    surroundings_.not_sent(message);
    Error error = frames.error();
    error.peer = self_.name;
    error.execution = Execution::yes;
    frames = msg::encode(envelope, msg::Failure{std::move(error)});
    if (!frames) return;
  }
  auto sent = peer->second.session->send(now, std::move(frames).value(), Session::Admission::always);
  if (sent) put_on_link(now, to.name, std::move(sent.value().on_link));
}

void Router::link_up(TimePoint now, const Peer& peer) {
  if (stopped_) return;
  // A life that was declared over stays over: its sessions and forks are gone here. It must come back as a new one.
  if (const auto over = lives_.why_over(NodeLife{peer.name, peer.incarnation})) {
    return surroundings_.give_up(peer.name, you_are_dead(*over));
  }
  const auto known = peers_.find(peer.name);
  if (known != peers_.end()) {
    if (known->second.peer.incarnation == peer.incarnation) return;  // the same session goes on over a new connection
    Error restarted;
    restarted.code = ErrorCode::peer_restarted;
    restarted.message = "a new incarnation has taken its name";
    lose(now, peer.name, restarted);
  }
  lives_.begin(peer);
  peers_[peer.name] = {peer, std::make_unique<Session>(self_.incarnation, peer.incarnation), false};
  detector_.watch(peer.name, peer.incarnation, now);
  detector_due_ = now;
  surroundings_.peer_up(peer);
}

void Router::link_down(TimePoint now, const NodeName& peer, Incarnation incarnation, const Error& why) {
  const auto known = peers_.find(peer);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;
  lose(now, peer, why);
}

void Router::frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames) {
  const auto known = peers_.find(from);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;  // an earlier life
  PeerState& state = known->second;
  if (const auto event = detector_.heard(from, incarnation, now)) state.unreachable = false;
  auto received = state.session->receive(now, std::move(frames));
  if (!received) {
    surroundings_.warn(fmt::format("dropped bytes from {}: {}", from, received.error().text()));
    return;
  }
  if (const auto interval = received.value().promised) detector_.promised(from, incarnation, *interval);
  put_on_link(now, from, std::move(received.value().on_link));
  const Peer peer = state.peer;
  for (Frames& body : received.value().delivered) {
    auto decoded = msg::decode(body);
    if (!decoded) {
      surroundings_.warn(fmt::format("a message from {} cannot be read: {}", from, decoded.error().text()));
      surroundings_.give_up(from, {});
      return;
    }
    dispatch(now, peer, std::move(decoded).value());
  }
  if (received.value().goodbye) {
    Error left;
    left.code = ErrorCode::shutting_down;
    left.message = "it has shut down";
    lose(now, from, left);
  }
}

void Router::dispatch(TimePoint now, const Peer& from, msg::Decoded decoded) {
  msg::Envelope& envelope = decoded.envelope;
  envelope.from = from.name;  // who the session says it is, not what the message claims
  if (envelope.in_reply_to.value != 0) {
    return complete(now, envelope.in_reply_to, {from.name, from.incarnation}, std::move(decoded.message));
  }
  const auto due = due_of(envelope, now);
  surroundings_.deliver(from, std::move(envelope), std::move(decoded.message), due);
}

void Router::complete(TimePoint now, RequestId request, const NodeLife& from, msg::AnyMessage message) {
  auto call = calls_.take(request, from);
  if (!call) return surroundings_.came_late(from, std::move(message));  // or a second time, or not from whom it was asked
  surroundings_.pending_changed(calls_.size());
  if (auto* failure = std::get_if<msg::Failure>(&message)) {
    fail(*call, std::move(failure->error), now);
  } else {
    call->entry.done(std::move(message));
  }
}

void Router::tick(TimePoint now) {
  for (auto& [name, state] : peers_) put_on_link(now, name, state.session->tick(now).on_link);
  auto expired = calls_.expire(now);
  if (!expired.empty()) surroundings_.pending_changed(calls_.size());
  for (auto& call : expired) {
    Error timeout;
    timeout.code = ErrorCode::timeout;
    timeout.message = fmt::format("no answer within {} ms",
                                  std::chrono::duration_cast<std::chrono::milliseconds>(*call.deadline - call.started).count());
    timeout.execution = Execution::maybe;
    notify(now, call.peer.name, call.peer.incarnation, "worker", msg::CallCancelled{call.request});
    fail(call, std::move(timeout), now);
  }
  auto verdicts = detector_.tick(now);
  detector_due_ = verdicts.next;
  for (const auto& [peer, interval] : verdicts.heartbeats) {
    if (const auto known = peers_.find(peer); known != peers_.end()) {
      surroundings_.transmit(peer, known->second.session->heartbeat(interval));
    }
  }
  for (const auto& event : verdicts.events) reach(now, event.peer, event.incarnation, event.change, event.silence);
}

void Router::reach(TimePoint now, const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  const auto known = peers_.find(peer);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;  // an earlier life
  known->second.unreachable = change == Reach::unreachable;
  if (change != Reach::down) return;
  Error down;
  down.code = ErrorCode::peer_down;
  down.message = fmt::format("nothing heard for {} ms",
                             std::chrono::duration_cast<std::chrono::milliseconds>(silence).count());
  lose(now, peer, down);
  surroundings_.give_up(peer, you_are_dead(down));
}

// What a life that was declared over is told.
Farewell Router::you_are_dead(const Error& why) const {
  return {ErrorCode::you_are_dead, fmt::format("node {} took this node for dead: {}", self_.name, why.message)};
}

std::optional<TimePoint> Router::next_due() {
  std::optional<TimePoint> next = calls_.next_deadline();
  const auto consider = [&next](std::optional<TimePoint> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (auto& [name, state] : peers_) consider(state.session->next_due());
  consider(detector_due_);
  return next;
}

void Router::stop(TimePoint now, const Error& why) {
  if (stopped_) return;
  stopped_ = why;
  for (auto& [name, state] : peers_) surroundings_.transmit(name, state.session->goodbye());
  auto unanswered = calls_.fail_all();
  surroundings_.pending_changed(0);
  for (auto& call : unanswered) fail(call, why, now);
}

void Router::put_on_link(TimePoint now, const NodeName& to, std::vector<Frames> messages) {
  if (messages.empty()) return;
  detector_.sent(to, now);
  for (Frames& message : messages) surroundings_.transmit(to, std::move(message));
}

void Router::lose(TimePoint now, const NodeName& name, const Error& why) {
  const auto known = peers_.find(name);
  const Peer peer = known->second.peer;
  std::set<RequestId> never_left;
  for (const auto& unsent : known->second.session->close()) {
    if (unsent.left) continue;
    if (const auto outside = msg::decode_outside(unsent.body)) never_left.insert(outside.value().envelope.request);
  }
  peers_.erase(known);
  detector_.forget(name);
  Error error = why;
  error.peer = name;
  error.incarnation = peer.incarnation;
  error.endpoint = peer.address;
  lives_.end({name, peer.incarnation}, error);
  surroundings_.peer_down(peer, error);  // first: who is told of a failed call finds references failed as well
  auto unanswered = calls_.fail_peer({name, peer.incarnation});
  surroundings_.pending_changed(calls_.size());
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
    error.message = "no node of that name is in this cluster";
    for (const auto& [name, state] : peers_) error.hint += (error.hint.empty() ? "known: " : ", ") + name;
  }
  error.peer = to;
  error.operation = operation;
  error.execution = Execution::never;
  error.elapsed_us = 0;
  return error;
}

}  // namespace troupe::detail
