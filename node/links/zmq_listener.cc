#include "node/links/zmq_listener.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr std::size_t kPendingMax = 1024;
constexpr std::size_t kSessionsPerPeerMax = 4;
constexpr Duration kRefusalGap = std::chrono::milliseconds{50};

std::string route_of(const Frame& frame) {
  return {reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size()};
}

}  // namespace

ZmqListener::ZmqListener(ZmqLinkParts& parts, ZmqSocket router, ReadySet::Key key)
    : parts_(parts), router_(std::move(router)) {
  if (const auto watched = router_.tell(parts_.ready, key); !watched) throw RemoteError(watched.error());
}

std::optional<ZmqListener::Happened> ZmqListener::next(TimePoint now) {
  while (std::optional<Frames> message = router_.receive()) {
    if (message->size() < 2) {  // only a route, or too many frames
      ++parts_.counters.refused_messages;
      parts_.audit(AuditEvent::refused, "a message without content, or of too many frames");
      continue;
    }
    if (!has_user(now)) continue;
    const std::string route = route_of(message->front());
    const bool envelope = (*message)[1].bytes.size() == ZmqEnvelope::kBytes;
    std::optional<Happened> happened =
        envelope ? take_message(now, route, *std::move(message)) : take_words(now, route, *message);
    if (happened) return happened;
  }
  return std::nullopt;
}

std::optional<ZmqListener::Happened> ZmqListener::take_words(TimePoint now, const std::string& route,
                                                             const Frames& message) {
  if (!is_still_member(now, route)) return std::nullopt;
  const auto found = pending(now, route);
  const std::span<const std::byte> words = message.size() == 2 ? message[1].bytes : std::span<const std::byte>{};
  HandshakeStep step = found->second.handshake.take(words);
  if (step.failed) {  // counted before the peer hears of it
    ++parts_.counters.refused_handshakes;
    const std::string claimed =
        step.failed->peer.empty() ? "" : fmt::format(" that calls itself {}", step.failed->peer);
    parts_.log_refusal(
        now, fmt::format("refused a connection{}: {} ({})", claimed, step.failed->message, name_of(step.failed->code)));
    parts_.audit(AuditEvent::refused, fmt::format("{}: {}", name_of(step.failed->code), step.failed->message),
                 step.failed->peer);
    pending_.erase(found);
  }
  if (!step.reply.empty()) answer(route, std::move(step.reply));
  if (step.done) return Proved{.route = route, .peer = step.done->peer};
  return std::nullopt;
}

std::optional<ZmqListener::Happened> ZmqListener::take_message(TimePoint now, const std::string& route,
                                                               Frames message) {
  const std::optional<ZmqEnvelope> envelope = decode_envelope(message[1].bytes);
  const auto found = envelope ? sessions_.find(envelope->slot) : sessions_.end();
  const bool is_its_user = found != sessions_.end() && (!parts_.keys() || found->second.user == router_.user());
  if (!is_its_user || !found->second.admits(envelope->token, route)) {
    refuse_message(now, route);
    return std::nullopt;
  }
  const Session& session = found->second;
  if (envelope->kind == ZmqEnvelope::Kind::bye) {
    const auto words = message.size() == 3 ? message[2].bytes : std::span<const std::byte>{};
    return Bye{.from = session.peer, .incarnation = session.incarnation, .farewell = decode_farewell(words)};
  }
  message.erase(message.begin(), message.begin() + 2);
  return Message{.from = session.peer, .incarnation = session.incarnation, .frames = std::move(message)};
}

bool ZmqListener::Session::admits(const SessionToken& said, const std::string& from) {
  if (token.matches(said.bytes())) return from == route;
  if (!bulk_token.matches(said.bytes())) return false;
  if (bulk_route.empty()) bulk_route = from;
  return from == bulk_route;
}

// ZeroMQ itself accepts every key while no handler answers.
bool ZmqListener::has_user(TimePoint now) {
  if (!parts_.keys() || !router_.user().empty()) return true;
  ++parts_.counters.refused_messages;
  parts_.log_refusal(now, "refused a message of a connection whose key was not checked");
  parts_.audit(AuditEvent::refused, "a message of a connection whose key was not checked");
  return false;
}

// ZeroMQ closes no connection of a key that it let in.
bool ZmqListener::is_still_member(TimePoint now, const std::string& route) {
  if (!parts_.keys() || pending_.contains(route) || member_of(router_.user(), *parts_.keys())) return true;
  ++parts_.counters.refused_handshakes;
  const std::string& user = router_.user();
  parts_.log_refusal(
      now, fmt::format("refused a connection of {}: its key is not valid any more", user.substr(0, user.find('#'))));
  parts_.audit(AuditEvent::refused, "its key is not valid any more", user.substr(0, user.find('#')));
  answer(route, handshake_refusal(ErrorCode::auth_failed));
  return false;
}

// The sender may be a peer of an earlier life of this node: the answer makes it introduce itself again.
void ZmqListener::refuse_message(TimePoint now, const std::string& route) {
  ++parts_.counters.refused_messages;
  parts_.audit(AuditEvent::refused, "a message of no session");
  if (now - last_refused_message_ < kRefusalGap) return;
  last_refused_message_ = now;
  answer(route, handshake_refusal(ErrorCode::not_joined));
}

// Beyond the bound the oldest is dropped: an honest peer answers within milliseconds.
std::map<std::string, ZmqListener::Pending>::iterator ZmqListener::pending(TimePoint now, const std::string& route) {
  if (const auto found = pending_.find(route); found != pending_.end()) return found;
  if (pending_.size() >= kPendingMax) {
    parts_.audit(AuditEvent::limit, "unfinished handshakes");
    pending_.erase(std::ranges::min_element(pending_, {}, [](const auto& entry) { return entry.second.expires; }));
  }
  do {
    ++last_slot_;
  } while (sessions_.contains(last_slot_));  // strangers use up numbers, too
  const std::uint32_t slot = last_slot_;
  PulseThread::Inbox inbox = parts_.pulse->open_inbox(slot, parts_.self.peer.address);
  HandshakeIdentity self = parts_.self;
  self.pulse.address = inbox.address;
  const auto client = parts_.keys() ? member_of(router_.user(), *parts_.keys()) : std::nullopt;
  return pending_
      .emplace(route,
               Pending{.slot = slot,
                       .user = parts_.keys() ? router_.user() : std::string(),
                       .inbox = std::move(inbox),
                       .handshake = HandshakeServer(std::move(self), parts_.options.secret, random_nonce(), client),
                       .expires = now + parts_.handshake_patience()})
      .first;
}

void ZmqListener::welcome(const std::string& route) {
  const auto found = pending_.find(route);
  if (found == pending_.end()) return;
  const std::uint32_t slot = found->second.slot;
  PulseThread::Inbox inbox = std::move(found->second.inbox);
  std::string user = std::move(found->second.user);
  HandshakeServer::Welcome welcome = found->second.handshake.welcome(slot);
  pending_.erase(found);
  const Peer& peer = welcome.session.peer;
  std::vector<std::uint32_t>& slots = slots_[peer.name];
  slots.push_back(slot);
  if (slots.size() > kSessionsPerPeerMax) {
    end_session(slots.front());
    slots.erase(slots.begin());
  }
  sessions_.insert_or_assign(slot, Session{.peer = peer.name,
                                           .user = std::move(user),
                                           .incarnation = peer.incarnation,
                                           .token = welcome.session.token,
                                           .route = route,
                                           .bulk_token = welcome.session.bulk_token});
  parts_.pulse->trust(slot, peer.name, peer.incarnation, welcome.session.pulse_key, std::move(inbox));
  answer(route, std::move(welcome.message));
}

void ZmqListener::end_session(std::uint32_t slot) {
  sessions_.erase(slot);
  parts_.pulse->distrust(slot);
}

void ZmqListener::refuse(const std::string& route, ErrorCode code) {
  const auto found = pending_.find(route);
  if (found == pending_.end()) return;
  ++parts_.counters.refused_handshakes;
  answer(route, found->second.handshake.refuse(code));
  pending_.erase(found);
}

void ZmqListener::forget(const NodeName& peer) {
  const auto found = slots_.find(peer);
  if (found == slots_.end()) return;
  for (const std::uint32_t slot : found->second) end_session(slot);
  slots_.erase(found);
}

void ZmqListener::forget_former_members() {
  const auto is_out = [this](const std::string& user) { return !member_of(user, *parts_.keys()); };
  std::erase_if(pending_, [&](const auto& entry) { return is_out(entry.second.user); });
  std::vector<std::uint32_t> ended;
  for (const auto& [slot, session] : sessions_) {
    if (is_out(session.user)) ended.push_back(slot);
  }
  for (const std::uint32_t slot : ended) {
    const auto of_peer = slots_.find(sessions_.at(slot).peer);
    std::erase(of_peer->second, slot);
    if (of_peer->second.empty()) slots_.erase(of_peer);
    end_session(slot);
  }
}

void ZmqListener::expire(TimePoint now) {
  const std::size_t expired = std::erase_if(pending_, [now](const auto& entry) { return entry.second.expires <= now; });
  parts_.counters.refused_handshakes += expired;
  for (std::size_t i = 0; i < expired; ++i) parts_.audit(AuditEvent::refused, "its handshake took too long");
}

void ZmqListener::answer(const std::string& route, std::vector<std::byte> words) {
  const std::span<const std::byte> to = std::as_bytes(std::span{route});
  (void)router_.send({Frame{.bytes = to, .owner = nullptr}, make_frame(std::move(words))});
}

}  // namespace troupe
