#include "node/port/port_router.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace troupe::port {
namespace {

constexpr std::string_view kStopped = "the port has stopped";

/// The link answers a connection attempt within its patience; this covers a link that reached another port instead.
constexpr int kPatienceFactor = 2;

/// As good as no end of a delay: `now` plus a longer one could overflow.
constexpr Duration kForEver = std::chrono::hours(24 * 365);

/// Returns "tcp" for "tcp://127.0.0.1:40211".
std::string_view kind_of(std::string_view address) { return address.substr(0, address.find("://")); }

long long milliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
}

}  // namespace

Router::Router(Peer self, Duration connect_patience, Callbacks& callbacks, Packing packing)
    : self_(std::move(self)), connect_patience_(connect_patience), callbacks_(callbacks), packing_(packing) {}

void Router::connect(TimePoint now, const NodeName& name, const std::string& address) {
  if (stopped_ || name == self_.name) return;
  PeerState& peer = peers_[name];
  const bool is_up = peer.phase == Phase::up;
  if (peer.sought == address || (is_up && peer.sought.empty() && peer.address == address)) return;
  is_not_gone(peer);
  if (!is_up) peer.phase = Phase::connecting;
  peer.unwanted.clear();
  peer.sought = address;
  peer.give_up_at = now + kPatienceFactor * connect_patience_;
  const auto tenant = std::ranges::find_if(peers_, [&](const auto& entry) {
    return entry.first != name && entry.second.phase == Phase::up && entry.second.address == address;
  });
  if (tenant != peers_.end()) return end_attempt_at_tenant(now, name, tenant->first);
  callbacks_.connect(address);
}

void Router::remove(const NodeName& name) {
  const auto found = peers_.find(name);
  if (found == peers_.end()) return;
  PeerState& peer = found->second;
  if (peer.phase == Phase::up) callbacks_.disconnect(name, {});
  const std::string tried = peer.sought;
  lose(name, Phase::removed, fmt::format("{} was removed by this port", name));
  if (tried.empty()) return;
  peer.unwanted = tried;
  const bool others_try = std::ranges::any_of(peers_, [&](const auto& entry) { return entry.second.sought == tried; });
  if (!others_try) callbacks_.stop_connecting(tried);
}

void Router::link_up(TimePoint now, const Peer& peer) {
  if (stopped_) return;
  expire_calls(now);  // a request past its deadline is not sent, even without a tick since
  PeerState& state = peers_[peer.name];
  if (state.phase == Phase::up && state.life == peer.incarnation) {  // an attempt found the life that is up
    state.sought.clear();
    return send_waiting(now, state);
  }
  if (!std::exchange(state.unwanted, {}).empty()) return callbacks_.disconnect(peer.name, {.life = peer.incarnation});
  if (state.phase == Phase::up) lose_life(peer.name, fmt::format("{} was made again", peer.name));
  if (kind_of(peer.address) != kind_of(self_.address)) {
    // One side would send without the checksums that the other requires.
    callbacks_.disconnect(peer.name, {.life = peer.incarnation});
    return lose(peer.name, Phase::lost,
                fmt::format("{} listens at {}, and this port at {}: both must be of one kind", peer.name, peer.address,
                            self_.address));
  }
  if (std::ranges::find(state.ended, peer.incarnation) != state.ended.end()) {
    // Its session is gone here, and the numbers of a second one could be confused with the first.
    callbacks_.disconnect(peer.name, {.life = peer.incarnation});
    if (state.phase == Phase::removed) return;
    return lose(peer.name, Phase::lost, fmt::format("this life of {} was lost or removed before", peer.name));
  }
  is_not_gone(state);
  state.phase = Phase::up;
  state.life = peer.incarnation;
  state.address = peer.address;
  state.sought.clear();
  state.session = std::make_unique<Session>(self_.incarnation, peer.incarnation);
  send_waiting(now, state);
  for (const auto& [name, other] : peers_) {
    if (other.sought == peer.address) end_attempt_at_tenant(now, name, peer.name);
  }
}

void Router::send_waiting(TimePoint now, PeerState& peer) {
  for (const RequestId waiting : std::exchange(peer.waiting, {})) {
    if (auto call = calls_.cancel(waiting)) send(now, peer, std::move(call->entry));
  }
}

/// Ends an attempt without success: a life that is up stays so, and the calls that waited go to it.
void Router::end_attempt(TimePoint now, const NodeName& name, const std::string& why) {
  PeerState& peer = peers_.at(name);
  if (peer.phase != Phase::up) return lose(name, Phase::lost, why);
  callbacks_.warn(fmt::format("{}; the {} at {} is called instead", why, name, peer.address));
  peer.sought.clear();
  send_waiting(now, peer);
}

void Router::end_attempt_at_tenant(TimePoint now, const NodeName& asked, const NodeName& found) {
  const std::string& address = peers_.at(found).address;
  end_attempt(now, asked, fmt::format("the port at {} calls itself {}, not {}", address, found, asked));
}

void Router::link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.phase != Phase::up || found->second.life != incarnation) return;
  lose_life(peer, fmt::format("{} is gone: {}", peer, why.message));
}

void Router::silent(const NodeName& peer, Incarnation incarnation, Duration silence) {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.phase != Phase::up || found->second.life != incarnation) return;
  const long long waited = milliseconds(silence);
  callbacks_.disconnect(
      peer, {ErrorCode::you_are_dead,
             fmt::format("{} took this port for dead: nothing heard for {} ms", self_.name, waited), incarnation});
  lose_life(peer, fmt::format("nothing was heard of {} for {} ms", peer, waited));
}

void Router::connect_failed(TimePoint now, std::string_view address, const Error& why) {
  for (auto& [name, peer] : peers_) {
    if (peer.unwanted == address) peer.unwanted.clear();
    if (why.code == ErrorCode::cancelled) continue;  // an attempt that `remove` cancelled: a later one continues
    if (peer.sought != address) continue;
    end_attempt(now, name, fmt::format("{} cannot be reached: {}", name, why.message));
  }
}

/// Ends the life that is up and the calls sent to it. Others wait on for a life at another address, if one is sought.
void Router::lose_life(const NodeName& name, std::string why) {
  PeerState& peer = peers_.at(name);
  if (peer.sought.empty()) return lose(name, Phase::lost, std::move(why));
  const Incarnation life = end_session(peer);
  peer.phase = Phase::connecting;
  for (Calls::Call& call : calls_.fail_peer({name, life})) end(std::move(call.entry), Port::Outcome::peer_lost, why);
}

/// Ends the peer's life or the attempt to reach one, or both, and all calls to it.
// By value and by name: the caller's references may point into what changes here.
void Router::lose(const NodeName& name, Phase phase, std::string why) {
  PeerState& peer = peers_.at(name);
  is_not_gone(peer);
  gone_.emplace(++last_gone_, name);
  peer.gone = last_gone_;
  const Incarnation life = end_session(peer);
  peer.sought.clear();
  peer.waiting.clear();
  peer.phase = phase;
  peer.why = std::move(why);
  std::vector<Calls::Call> calls = calls_.fail_peer({name, life});
  if (life != Incarnation{}) std::ranges::move(calls_.fail_peer({name, {}}), std::back_inserter(calls));
  for (Calls::Call& call : calls) end(std::move(call.entry), Port::Outcome::peer_lost, peer.why);
  if (gone_.size() <= kGoneMax) return;
  peers_.erase(gone_.begin()->second);  // not this peer
  gone_.erase(gone_.begin());
}

/// Returns the life that has ended with it; none if no life was up.
Incarnation Router::end_session(PeerState& peer) {
  if (!peer.session) return {};
  (void)peer.session->close();
  peer.session.reset();
  peer.ended.push_back(peer.life);
  if (peer.ended.size() > kEndedLivesMax) peer.ended.pop_front();
  return peer.life;
}

void Router::call(TimePoint now, Call call) {
  if (stopped_) return end(std::move(call), Port::Outcome::stopped, std::string(kStopped));
  if (std::string why = refusal(call.peer); !why.empty()) {
    return end(std::move(call), Port::Outcome::peer_lost, std::move(why));
  }
  if (call.due && *call.due <= now) {
    return end(std::move(call), Port::Outcome::timeout, "the deadline had passed before the request was sent");
  }
  if (!fail_on_purpose(now, call)) route(now, std::move(call));
}

/// Returns why a call to `peer` fails at once; empty if it does not.
std::string Router::refusal(const NodeName& peer) const {
  if (peer == self_.name) return {};
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return fmt::format("{} was never connected", peer);
  const bool gone = found->second.phase == Phase::lost || found->second.phase == Phase::removed;
  return gone ? found->second.why : std::string{};
}

/// Applies the fault of the call's tag. Returns whether the call was handled by it.
bool Router::fail_on_purpose(TimePoint now, Call& call) {
  const auto found = faults_.find(call.tag);
  if (found == faults_.end()) return false;
  Port::Fault& fault = found->second;
  if (fault.fail_count > 0) {
    --fault.fail_count;
    std::string why = fmt::format("failed on purpose by the rule for tag {}", call.tag);
    end(std::move(call), Port::Outcome::peer_lost, std::move(why));
    return true;
  }
  if (!fault.drop && fault.delay <= Duration{0}) return false;
  const RequestId kept = keep(std::move(call), {});
  if (!fault.drop && fault.delay < kForEver) delayed_.emplace(now + fault.delay, kept);
  return true;
}

RequestId Router::keep(Call call, Incarnation life) {
  NodeLife peer{call.peer, life};
  const auto due = call.due;
  const TimePoint started = call.started;
  return calls_.add(std::move(peer), due, {}, started, std::move(call));
}

void Router::route(TimePoint now, Call call) {
  if (call.peer == self_.name) {
    Request request{{self_.name, self_.incarnation}, {}, call.tag, std::exchange(call.body, {}), call.due};
    request.id = keep(std::move(call), self_.incarnation);
    return callbacks_.serve(std::move(request));
  }
  PeerState& peer = peers_.at(call.peer);
  if (peer.phase == Phase::up && peer.sought.empty()) return send(now, peer, std::move(call));
  peer.waiting.push_back(keep(std::move(call), {}));
}

void Router::send(TimePoint now, PeerState& peer, Call call) {
  const NodeName to = call.peer;
  Message message{.kind = Message::Kind::call, .request = {}, .tag = call.tag, .body = std::exchange(call.body, {})};
  Posting posting{.of = Posting::Class::free_call, .due = call.due};
  posting.request = message.request = keep(std::move(call), peer.life);
  auto sent = peer.session->send(now, pack(encode(std::move(message)), packing_), std::move(posting));
  if (sent) put_on_link(to, std::move(sent).value());
}

void Router::answer(TimePoint now, const NodeLife& to, RequestId request, std::optional<Body> body) {
  if (to.name == self_.name) return complete(to, request, std::move(body));
  const auto found = peers_.find(to.name);
  if (found == peers_.end() || found->second.phase != Phase::up || found->second.life != to.incarnation) return;
  Message message{
      .kind = body ? Message::Kind::answer : Message::Kind::dropped, .request = request, .tag = 0, .body = {}};
  if (body) message.body = *std::move(body);
  auto sent =
      found->second.session->send(now, pack(encode(std::move(message)), packing_), {.of = Posting::Class::answer});
  if (sent) put_on_link(to.name, std::move(sent).value());
}

void Router::frames(TimePoint now, const NodeName& from, Incarnation incarnation, Frames frames) {
  const auto found = peers_.find(from);
  if (found == peers_.end() || found->second.phase != Phase::up || found->second.life != incarnation) return;
  auto received = found->second.session->receive(now, std::move(frames));
  if (!received) {
    callbacks_.warn(fmt::format("dropped bytes from {}: {}", from, received.error().message));
    const ErrorCode code = received.error().code;
    if (code != ErrorCode::protocol_violation && code != ErrorCode::too_large) return;
    callbacks_.disconnect(from, {.life = incarnation});
    return lose_life(from, fmt::format("{} does not keep to the rules: {}", from, received.error().message));
  }
  put_on_link(from, std::move(received.value().on_link));
  for (Session::Delivered& delivered : received.value().delivered) {
    auto message = decode(std::move(delivered.frames));
    if (!message) {
      callbacks_.disconnect(from, {.life = incarnation});
      return lose_life(from, fmt::format("{} sent a message that cannot be read: {}", from, message.error().message));
    }
    take({from, incarnation}, std::move(message).value(), delivered.due);
  }
  if (received.value().goodbye) lose_life(from, fmt::format("{} has stopped", from));
}

void Router::take(const NodeLife& from, Message message, std::optional<TimePoint> due) {
  switch (message.kind) {
    case Message::Kind::call:
      return callbacks_.serve({from, message.request, message.tag, std::move(message.body), due});
    case Message::Kind::answer: return complete(from, message.request, std::move(message.body));
    case Message::Kind::dropped: return complete(from, message.request, std::nullopt);
  }
}

void Router::complete(const NodeLife& from, RequestId request, std::optional<Body> body) {
  auto call = calls_.take(request, from);
  if (!call) return;  // late, or from another peer
  if (body) return callbacks_.end(std::move(call->entry.ending), Port::Outcome::answered, *std::move(body), {});
  end(std::move(call->entry), Port::Outcome::peer_lost,
      fmt::format("{} dropped the request without an answer", from.name));
}

void Router::tick(TimePoint now) {
  expire_calls(now);  // first: an expired request is not sent
  give_up_connecting(now);
  for (auto& [name, peer] : peers_) {
    if (peer.session) put_on_link(name, peer.session->tick(now));
  }
  while (!delayed_.empty() && delayed_.begin()->first <= now) {
    auto call = calls_.cancel(delayed_.extract(delayed_.begin()).mapped());
    if (call) route(now, std::move(call->entry));  // its peer is not lost: that would have ended the call
  }
}

void Router::expire_calls(TimePoint now) {
  for (Calls::Call& call : calls_.expire(now)) {
    take_back(now, call);
    const long long waited = milliseconds(*call.deadline - call.started);
    end(std::move(call.entry), Port::Outcome::timeout, fmt::format("no answer within {} ms", waited));
  }
}

/// Stops the unsent part of a request.
void Router::take_back(TimePoint now, const Calls::Call& call) {
  const auto found = peers_.find(call.peer.name);
  if (found == peers_.end() || found->second.phase != Phase::up || found->second.life != call.peer.incarnation) return;
  put_on_link(call.peer.name, found->second.session->take_back(now, call.request).on_link);
}

void Router::give_up_connecting(TimePoint now) {
  for (auto& [name, peer] : peers_) {
    if (peer.sought.empty() || peer.give_up_at > now) continue;
    end_attempt(now, name, fmt::format("{} did not come up at {}", name, peer.sought));
  }
}

std::optional<TimePoint> Router::next_due() {
  std::optional<TimePoint> next = calls_.next_deadline();
  const auto consider = [&next](std::optional<TimePoint> due) {
    if (due && (!next || *due < *next)) next = due;
  };
  for (const auto& [name, peer] : peers_) {
    if (peer.session) consider(peer.session->next_due());
    if (!peer.sought.empty()) consider(peer.give_up_at);
  }
  if (!delayed_.empty()) consider(delayed_.begin()->first);
  return next;
}

void Router::end_calls() noexcept {
  stopped_ = true;
  delayed_.clear();
  while (auto call = calls_.take_oldest()) {
    try {
      end(std::move(call->entry), Port::Outcome::stopped, std::string(kStopped));
    } catch (const std::bad_alloc&) {
      continue;  // dropped: its ending tells
    }
  }
}

bool Router::flushed() const {
  return std::ranges::all_of(
      peers_, [](const auto& entry) { return !entry.second.session || entry.second.session->flushed(); });
}

void Router::close() {
  for (auto& [name, peer] : peers_) {
    if (!peer.session) continue;
    Session::Packet goodbye = peer.session->goodbye();
    callbacks_.transmit(name, goodbye.lane, std::move(goodbye.frames));
    lose(name, Phase::lost, std::string(kStopped));
  }
}

void Router::put_on_link(const NodeName& to, Session::Packets packets) {
  if (packets.empty()) return;
  for (Session::Packet& packet : packets) callbacks_.transmit(to, packet.lane, std::move(packet.frames));
}

}  // namespace troupe::port
