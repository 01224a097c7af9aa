#include "node/links/zmq_outgoing.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr Duration kReopenGap = std::chrono::milliseconds{100};
constexpr Duration kRetryGap = std::chrono::milliseconds{250};
constexpr Duration kAskGap = std::chrono::seconds{1};
constexpr int kBrokenOffMin = 3;
constexpr Duration kKeyPatience = std::chrono::seconds{1};  // for a cut connection to pass: another key stays one

/// Returns whether another attempt may succeed: the peer is busy, or bytes were damaged in transit.
bool is_passing(ErrorCode code) {
  return code == ErrorCode::name_in_use || code == ErrorCode::shutting_down || code == ErrorCode::resource_exhausted ||
         code == ErrorCode::decode || code == ErrorCode::protocol_violation;
}

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

ZmqOutgoing::ZmqOutgoing(ZmqLinkParts& parts, std::string address, NodeName name, ReadySet::Key key, TimePoint now)
    : ZmqOutgoing(parts, address, std::move(name), key, now, OnThisHost(address)) {}

ZmqOutgoing::ZmqOutgoing(ZmqLinkParts& parts, std::string address, NodeName name, ReadySet::Key key, TimePoint now,
                         OnThisHost on_this_host)
    : parts_(parts),
      address_(std::move(address)),
      name_(std::move(name)),
      key_(key),
      on_this_host_(std::move(on_this_host)) {
  open(now);
}

std::optional<ZmqOutgoing::Happened> ZmqOutgoing::work(TimePoint now) {
  while (true) {
    if (Clue clue = take_events(now)) return clue;
    if (Clue clue = take_answers(now)) return clue;
    if (Clue clue = check_time(now)) return clue;
    if (words_ && express_ && express_->send(*words_)) words_.reset();
    flush();
    // A send may have consumed the report of a message, and a read that of room to send: neither is repeated.
    const auto waits = [this](LinkLane lane) { return welcomed_ && !backlog_of(lane).packets.empty(); };
    const bool express_waits = words_.has_value() || waits(LinkLane::express) || (!bulk_ && waits(LinkLane::bulk));
    const bool has_news =
        (express_ && express_->has_news(express_waits)) || (bulk_ && bulk_->has_news(waits(LinkLane::bulk)));
    if (!has_news) return std::nullopt;
  }
}

void ZmqOutgoing::send(LinkLane lane, Frames packet) {
  if (lane == LinkLane::bulk && !bulk_wanted_) {
    bulk_wanted_ = true;
    open_bulk();
  }
  Backlog& backlog = backlog_of(lane);
  if (welcomed_ && backlog.packets.empty() && put(socket_of(lane), packet)) return;
  const std::size_t bytes = size_of(packet);
  if (!backlog.packets.empty() && backlog.bytes + bytes > parts_.options.backlog_bytes_max) {
    ++parts_.counters.dropped_messages;
    return;
  }
  backlog.bytes += bytes;
  backlog.packets.push_back(std::move(packet));
}

void ZmqOutgoing::say_bye(const Farewell& farewell) {
  if (!welcomed_) return;
  std::optional<ZmqEnvelope> envelope = decode_envelope(envelope_.bytes);
  envelope->kind = ZmqEnvelope::Kind::bye;
  (void)express_->send({encode(*envelope), encode(farewell)});
}

std::optional<TimePoint> ZmqOutgoing::next_due() const {
  std::optional<TimePoint> due = reopen_at_;
  const auto no_later_than = [&due](TimePoint time) { due = due ? std::min(*due, time) : time; };
  if (!welcomed_) {
    if (give_up_at_) no_later_than(*give_up_at_);
    if (connected_) no_later_than(answer_by_);
  }
  return due;
}

void ZmqOutgoing::open(TimePoint now) {
  opened_ = now;
  reopen_at_.reset();
  if (welcomed_) give_up_at_ = waits_for_refusals_ ? std::nullopt : std::optional(now + reconnect_patience_);
  connected_ = welcomed_ = false;
  bulk_.reset();
  express_.reset();
  const AttemptLimit::Rank rank = peer_      ? AttemptLimit::Rank::restores
                                  : answers_ ? AttemptLimit::Rank::answers
                                  : began_   ? AttemptLimit::Rank::repeats
                                             : AttemptLimit::Rank::first;
  if (parts_.attempts.ask(key_, rank, now)) begin(now);
}

void ZmqOutgoing::hurry() {
  answers_ = true;
  parts_.attempts.hurry(key_, AttemptLimit::Rank::answers);
}

void ZmqOutgoing::ask_again(TimePoint now) {
  if (!welcomed_ || asking_ || (asked_at_ && now - *asked_at_ < kAskGap)) return;
  asking_ = true;
  asked_at_ = now;
  reopen_soon(now);
}

void ZmqOutgoing::begin(TimePoint now) {
  opened_ = now;
  answer_by_ = now + parts_.handshake_patience();
  if (!began_) {
    began_ = now;
    give_up_at_ = now + parts_.options.connect_patience;
  }
  handshake_.emplace(parts_.self, parts_.options.secret, random_nonce(),
                     parts_.keys() ? std::optional(name_) : std::nullopt);
  words_ = Frames{make_frame({handshake_->hello().begin(), handshake_->hello().end()})};
  Result<ZmqSocket> socket = open_socket(ZmqSocket::Kind::watched_dealer);
  if (socket) {
    const Result<Unit> connecting = socket.value().connect(address_);
    const Result<Unit> watched = socket.value().tell(parts_.ready, key_);
    if (connecting && watched) {
      express_ = std::move(socket).value();
      return;
    }
    if (!connecting) give_up_at_ = now;  // an invalid address stays invalid
    last_refusal_ = connecting
                        ? about(ErrorCode::resource_exhausted, watched.error().message)
                        : about(ErrorCode::bad_argument, fmt::format("{} is no address to connect to", address_));
  } else {
    last_refusal_ = about(socket.error().code, socket.error().message);
    last_refusal_->peer = socket.error().peer;
    if (socket.error().code == ErrorCode::not_authorized) give_up_at_ = now;  // nobody gives it the key later
  }
  parts_.attempts.over(key_);
  reopen_at_ = now + kRetryGap;
}

Result<ZmqSocket> ZmqOutgoing::open_socket(ZmqSocket::Kind kind) const {
  const std::optional<KeyRing>& keys = parts_.keys();
  const auto server = keys ? keys->key_of(name_) : std::nullopt;
  if (keys && !server) {
    Error error =
        about(ErrorCode::not_authorized,
              name_.empty() ? fmt::format("the name of the node at {} is not known, so neither is its key", address_)
                            : fmt::format("this node has no key of {}", name_));
    error.peer = name_;  // of the errors before a peer is up, only this one names it
    return error;
  }
  Result<ZmqSocket> socket = ZmqSocket::open(parts_.context, kind, parts_.limits());
  if (!socket || !keys) return socket;
  if (const auto secured = socket.value().secure_as_client(keys->own_keys(), *server); !secured) return secured.error();
  return socket;
}

void ZmqOutgoing::reopen_soon(TimePoint now) {
  if (now - opened_ >= kReopenGap) {
    open(now);
  } else if (!reopen_at_) {
    parts_.attempts.over(key_);
    reopen_at_ = opened_ + kReopenGap;
  }
}

ZmqOutgoing::Clue ZmqOutgoing::take_events(TimePoint now) {
  if (!express_) return std::nullopt;
  for (const ZmqSocket::Event event : express_->events()) {
    switch (event) {
      case ZmqSocket::Event::connected:
        if (peer_) ++parts_.counters.reconnects;
        if (!peer_) give_up_at_ = *began_ + parts_.meet_patience();  // somebody is there, and may be busy
        connected_ = true;
        refused_ = false;
        refusals_.end();
        forget_broken_off();
        break;
      case ZmqSocket::Event::disconnected:
        if (!connected_) {
          if (Clue clue = take_early_end(now)) return clue;
          break;
        }
        connected_ = false;
        reopen_soon(now);
        return std::nullopt;
      case ZmqSocket::Event::refused:
        refused_ = true;
        forget_broken_off();
        parts_.attempts.over(key_);  // ZeroMQ asks again until a process listens: that costs little
        // On this host that is the end of its process. Elsewhere it may be a firewall: its silence is judged. During
        // the lookup of a name it may be either; the next attempt is refused, too.
        if (peer_ && !connected_ && on_this_host_.is_known())
          return Lost{about(ErrorCode::peer_down, "connection closed")};
        if (waits_for_refusals_ && refusals_.take(now, reconnect_patience_) >= reconnect_patience_) return not_again();
        break;
      case ZmqSocket::Event::denied:
      case ZmqSocket::Event::broken_off:
        if (Clue clue = take_denial(now, event)) return clue;
        break;
    }
  }
  return std::nullopt;
}

// The connection ended before the handshake of ZeroMQ did. At once: another program listens there, or a proxy does.
// After the handshake's patience: it was not answered, and the peer may stand still. The attempt is repeated here:
// ZeroMQ gives up where the other side speaks another protocol.
ZmqOutgoing::Clue ZmqOutgoing::take_early_end(TimePoint now) {
  if (!waits_for_refusals_) return std::nullopt;
  if (refusals_.take(now, parts_.handshake_patience()) >= reconnect_patience_) return not_again();
  parts_.attempts.over(key_);
  if (!reopen_at_) reopen_at_ = now + kRetryGap;
  return std::nullopt;
}

// Without keys both are passing: bytes were damaged, or a stranger listens there until the peer does. With keys the
// attempt is repeated here: ZeroMQ gives up where the other side speaks another protocol.
ZmqOutgoing::Clue ZmqOutgoing::take_denial(TimePoint now, ZmqSocket::Event event) {
  if (connected_ || reopen_at_) return std::nullopt;
  if (!parts_.keys()) {
    broken_off_since_ = now;
    return std::nullopt;
  }
  if (event == ZmqSocket::Event::denied) {
    return take_refusal(now, about(ErrorCode::auth_failed, fmt::format("{} does not let this node's key in", name_)));
  }
  parts_.attempts.over(key_);
  reopen_at_ = now + kRetryGap;
  if (now >= answer_by_) return std::nullopt;  // the peer is busy, or has just begun
  if (!broken_off_since_) broken_off_since_ = now;
  ++broken_off_count_;
  if (broken_off_count_ < kBrokenOffMin || now - *broken_off_since_ < kKeyPatience) return std::nullopt;
  return take_refusal(now,
                      about(ErrorCode::auth_failed,
                            fmt::format("{} does not have the key that this node knows as {}'s", address_, name_)));
}

ZmqOutgoing::Clue ZmqOutgoing::take_answers(TimePoint now) {
  // After the welcome the peer sends nothing here, except that it does not know this session (any more).
  if (welcomed_ && (express_->receive() || (bulk_ && bulk_->receive()))) {
    reopen_soon(now);
    return std::nullopt;
  }
  while (!welcomed_ && express_) {
    const std::optional<Frames> message = express_->receive();
    if (!message) break;
    if (reopen_at_) continue;  // this attempt is over
    if (Clue clue = take_answer(now, *message)) return clue;
  }
  return std::nullopt;
}

ZmqOutgoing::Clue ZmqOutgoing::take_answer(TimePoint now, const Frames& message) {
  const std::span<const std::byte> bytes = message.size() == 1 ? message[0].bytes : std::span<const std::byte>{};
  HandshakeStep step = handshake_->take(bytes);
  if (!step.reply.empty()) words_ = Frames{make_frame(std::move(step.reply))};
  if (step.failed) {
    if (words_ && express_->send(*words_)) words_.reset();
    return take_refusal(now, *std::move(step.failed));
  }
  if (!step.done) return std::nullopt;
  parts_.attempts.answered(key_, now);
  welcome(*step.done);
  return Welcomed{*step.done};
}

ZmqOutgoing::Clue ZmqOutgoing::take_refusal(TimePoint now, Error why) {
  const bool until_then = peer_.has_value() || is_passing(why.code);
  if (!give_up_at_) give_up_at_ = now + reconnect_patience_;  // the peer does not stand still
  const TimePoint until =
      why.code == ErrorCode::name_in_use && !peer_ ? *began_ + parts_.options.name_patience : *give_up_at_;
  why.endpoint = address_;
  if (!until_then || now >= until) return Failed{std::move(why)};
  last_refusal_ = std::move(why);
  parts_.attempts.over(key_);
  reopen_at_ = now + kRetryGap;
  return std::nullopt;
}

ZmqOutgoing::Clue ZmqOutgoing::check_time(TimePoint now) {
  if (welcomed_) {
    if (reopen_at_ && now >= *reopen_at_) open(now);
    return std::nullopt;
  }
  if (give_up_at_ && now >= *give_up_at_) {
    if (last_refusal_) return Failed{*last_refusal_};
    if (peer_) return not_again();
    return Failed{about(ErrorCode::peer_unreachable,
                        fmt::format("{} {} within {} s", address_, what_it_did(), seconds(*give_up_at_ - *began_)))};
  }
  const bool unanswered = connected_ && now >= answer_by_;
  if ((reopen_at_ && now >= *reopen_at_) || unanswered) open(now);
  return std::nullopt;
}

ZmqOutgoing::Lost ZmqOutgoing::not_again() const {
  return {about(ErrorCode::peer_down,
                fmt::format("connection lost and not made again within {} s", seconds(reconnect_patience_)))};
}

std::string_view ZmqOutgoing::what_it_did() const {
  if (connected_) return "did not answer the handshake";
  if (refused_) return "refused every connection";
  if (!broken_off_since_) return "did not accept a connection";
  return address_.starts_with("ipc://") ? "broke off every handshake, as a node of another user does,"
                                        : "broke off every handshake, as a node with keys does,";
}

void ZmqOutgoing::welcome(const Authenticated& session) {
  welcomed_ = true;
  asking_ = false;
  peer_ = session.peer;
  const Duration own = parts_.options.silence.lease;
  const Duration lease = std::max(session.pulse.lease, own);
  reconnect_patience_ = lease == kEndlessLease ? parts_.options.connect_patience : lease;
  // This node's sockets give a connection up after its own lease, also while the peer stands still at a breakpoint.
  waits_for_refusals_ = lease == kEndlessLease && own != kEndlessLease;
  refusals_.end();
  handshake_.reset();
  last_refusal_.reset();
  reopen_at_.reset();
  envelope_ = encode(ZmqEnvelope{.slot = session.slot, .token = session.token});
  bulk_envelope_ = encode(ZmqEnvelope{.slot = session.slot, .token = session.bulk_token});
  open_bulk();
}

void ZmqOutgoing::open_bulk() {
  if (!welcomed_ || bulk_ || !bulk_wanted_) return;
  Result<ZmqSocket> socket = open_socket(ZmqSocket::Kind::dealer);
  // Without a separate connection, large messages use that of small ones.
  if (socket && socket.value().connect(address_) && socket.value().tell(parts_.ready, key_))
    bulk_ = std::move(socket).value();
}

void ZmqOutgoing::flush() {
  for (const LinkLane lane : {LinkLane::express, LinkLane::bulk}) {
    Backlog& backlog = backlog_of(lane);
    while (welcomed_ && express_ && !backlog.packets.empty() && put(socket_of(lane), backlog.packets.front())) {
      backlog.bytes -= size_of(backlog.packets.front());
      backlog.packets.pop_front();
    }
  }
}

bool ZmqOutgoing::put(ZmqSocket& lane, const Frames& frames) {
  Frames message;
  message.reserve(1 + frames.size());
  message.push_back(bulk_ && &lane == &*bulk_ ? bulk_envelope_ : envelope_);
  message.insert(message.end(), frames.begin(), frames.end());
  return lane.send(message);
}

Error ZmqOutgoing::about(ErrorCode code, std::string message) const {
  return Error{.code = code,
               .message = std::move(message),
               .peer = peer_ ? peer_->name : NodeName{},
               .incarnation = peer_ ? peer_->incarnation : Incarnation{},
               .endpoint = address_,
               .operation = peer_ ? "" : "connect",
               .execution = peer_ ? Execution::maybe : Execution::never};
}

}  // namespace troupe
