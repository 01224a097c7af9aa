// The receiving side of a router: delivers what sessions receive, and refuses what a peer may not send.
#include "actors/sessions/router.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "actors/sessions/packed_message.h"
#include "messages/codec.h"
#include "messages/senders.h"

namespace troupe::detail {

void Router::frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames) {
  const auto known = peers_.find(from);
  if (known == peers_.end() || known->second.peer.incarnation != incarnation) return;  // an earlier life
  PeerState& state = known->second;
  AnswerTotals taken = state.session->answers();
  auto received = state.session->receive(now, std::move(frames));
  if (!received) {
    callbacks_.warn(fmt::format("dropped bytes from {}: {}", from, received.error().text()));
    const ErrorCode code = received.error().code;
    if (code != ErrorCode::protocol_violation && code != ErrorCode::too_large) return;
    // A life whose name was forgotten (LV-2) goes on with its former session, which fits no new one.
    const bool is_new = state.session->counts().delivered == 0;
    callbacks_.give_up(from, is_new ? you_are_dead(incarnation, received.error()) : Farewell{.life = incarnation});
    return;
  }
  taken.remove(state.session->answers());
  if (!taken.empty()) {
    callbacks_.answers_taken({from, incarnation}, taken);
  }
  take(now, state, std::move(received).value());
}

void Router::take(TimePoint now, PeerState& peer, Session::Received received) {
  put_on_link(peer, std::move(received.on_link));
  for (const Frame& header : received.no_memory_for) refuse_for_memory(now, peer, header);
  for (const Frame& header : received.taken_back) answer_was_taken_back(now, peer, header);
  for (Session::Delivered& message : received.delivered) {
    if (!open(now, peer, std::move(message))) return;
  }
  const bool goodbye = received.goodbye;
  peer.session->reuse(std::move(received));
  if (goodbye) {
    lose(now, NodeName(peer.peer.name), make_error(ErrorCode::shutting_down, "it has shut down"));
  }
}

/// Decodes a message and delivers it; one that there is no memory for fails. If it is malformed, or a call that uses no
/// grant, ends the session with its sender and returns false.
bool Router::open(TimePoint now, PeerState& peer, Session::Delivered message) {
  const Peer& from = peer.peer;
  std::shared_ptr<CallCredit> credit;
  if (message.charge != Charge::none) {
    credit = std::make_shared<CallCredit>(peer.session->account(), message.charge, message.bytes);
  }
  auto decoded = msg::decode(message.frames);
  if (!decoded && decoded.error().code == ErrorCode::resource_exhausted) {
    refuse_for_memory(now, peer, message.frames.front());
    return true;
  }
  if (!decoded) {
    callbacks_.warn(fmt::format("a message from {} cannot be read: {}", from.name, decoded.error().text()));
    callbacks_.give_up(from.name, {.life = from.incarnation});
    return false;
  }
  msg::Envelope& envelope = decoded.value().envelope;
  envelope.from = from.name;  // the session's name for the sender, not the message's claim
  const msg::MessageInfo& info = msg::info_of(decoded.value().message);
  if (message.charge == Charge::none && needs_grant(decoded.value().message, envelope.to)) {
    callbacks_.warn(fmt::format("a {} from {} uses none of the calls granted", info.name, from.name));
    callbacks_.give_up(from.name, {.life = from.incarnation});
    return false;
  }
  const bool answers = envelope.in_reply_to.value != 0;
  std::optional<std::string> lie;
  if (answers != (info.kind == msg::Kind::reply)) {
    lie = answers ? "it answers no request" : "it names no request";
  } else {
    lie = msg::lie_in(decoded.value().message, {from.name, from.incarnation}, self_.name);
  }
  if (lie) {
    refuse_lie(now, peer, envelope, info, *lie);
  } else if (answers) {
    complete(now, envelope.in_reply_to, {from.name, from.incarnation}, std::move(decoded.value().message));
  } else {
    if (const auto* cancelled = decoded.value().message.get_if<msg::CallCancelled>())
      take_answer_back(now, peer, cancelled->request);
    callbacks_.deliver(from, std::move(envelope), std::move(decoded.value().message), message.due, std::move(credit));
  }
  return true;
}

/// The message is not its sender's to send: a request fails, and so does one that is answered so; anything else is
/// dropped. Said at the 1st, 2nd, 4th, 8th.
void Router::refuse_lie(TimePoint now, PeerState& peer, const msg::Envelope& envelope, const msg::MessageInfo& info,
                        const std::string& lie) {
  const NodeLife from{peer.peer.name, peer.peer.incarnation};
  if (std::has_single_bit(++peer.lies)) {
    callbacks_.warn(fmt::format("refused a {} from {} ({} refused so far): {}", info.name, from.name, peer.lies, lie));
  }
  Error error = make_error(ErrorCode::protocol_violation, lie);
  if (envelope.in_reply_to.value != 0) {
    if (info.kind != msg::Kind::reply) return;
    error.execution = Execution::yes;
    return complete(now, envelope.in_reply_to, from, msg::Failure{std::move(error)});
  }
  if (envelope.request.value == 0) return;
  error.peer = self_.name;
  error.incarnation = self_.incarnation;
  error.execution = Execution::never;
  callbacks_.refuse_unread(from, envelope.request, std::move(error));
}

/// The peer no longer awaits the answer to `request`, which may be unsent, half sent or not there yet.
void Router::take_answer_back(TimePoint now, PeerState& peer, RequestId request) {
  AnswerTotals given_up = peer.session->answers();
  Session::TakenBack taken = peer.session->take_back_answer(now, request);
  given_up.remove(peer.session->answers());
  put_on_link(peer, std::move(taken.on_link));
  if (!taken.in_time) {
    peer.unawaited.push_back(request);
    if (peer.unawaited.size() > kUnawaitedMax) peer.unawaited.erase(peer.unawaited.begin());
    return;
  }
  if (taken.undo) taken.undo();
  if (!given_up.empty()) callbacks_.answers_taken({peer.peer.name, peer.peer.incarnation}, given_up);
}

/// A peer takes an answer back that is no longer awaited. If it is awaited all the same, its request fails.
void Router::answer_was_taken_back(TimePoint now, const PeerState& peer, const Frame& header) {
  const auto outside = msg::decode_header(header);
  if (!outside || calls_.find(outside.value().envelope.in_reply_to) == nullptr) return;
  Error error = make_error(ErrorCode::protocol_violation, fmt::format("{} has taken its answer back", peer.peer.name));
  error.execution = Execution::yes;
  complete(now, outside.value().envelope.in_reply_to, {peer.peer.name, peer.peer.incarnation},
           msg::Failure{.error = std::move(error)});
}

/// There is no memory for a message: fails the one call that it is, or answers, or what waits for it.
void Router::refuse_for_memory(TimePoint now, const PeerState& peer, const Frame& header) {
  const auto outside = msg::decode_header(header);
  const NodeLife life{peer.peer.name, peer.peer.incarnation};
  if (!outside) {
    callbacks_.warn(fmt::format("no memory for a message from {}, which cannot be read", life.name));
    return callbacks_.give_up(life.name, {.life = life.incarnation});
  }
  const msg::Envelope& envelope = outside.value().envelope;
  Error error;
  error.code = ErrorCode::resource_exhausted;
  error.message = fmt::format("{} has no memory for {} bytes", self_.name, outside.value().bytes);
  error.peer = self_.name;
  error.incarnation = self_.incarnation;
  if (envelope.in_reply_to.value != 0) {
    error.execution = Execution::yes;
    complete(now, envelope.in_reply_to, life, msg::Failure{std::move(error)});
  } else if (envelope.request.value != 0) {
    error.execution = Execution::never;
    callbacks_.refuse_unread(life, envelope.request, std::move(error));
  } else {
    callbacks_.word_lost(life, outside.value(), std::move(error));
  }
}

}  // namespace troupe::detail
