#include "node/links/zmq_link_core.h"
#include "node/links/peer_error.h"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe {
namespace {

constexpr int kMessagesPerTurn = 256;   // then connections and commands have their turn
constexpr ReadySet::Key kListener = 1;  // and connections above
constexpr const char* kOneWay =
    "a firewall, or address translation, lets only one direction through: nodes connect to each other; `troupe doctor` "
    "tries all ways between hosts, `advertise` is the address at which others reach a node";

Error refused_connect(const std::string& address, ErrorCode code, std::string message) {
  return Error{.code = code,
               .message = std::move(message),
               .endpoint = address,
               .operation = "connect",
               .execution = Execution::never};
}

}  // namespace

ZmqLinkCore::ZmqLinkCore(ZmqLinkParts& parts, ZmqSocket router, LinkSink& sink)
    : parts_(parts), sink_(sink), listener_(parts, std::move(router), kListener) {
  if (parts_.keys()) own_key_ = parts_.keys()->own_keys().public_key();
}

void ZmqLinkCore::obey(TimePoint now, Command command) {
  std::visit([this, now](auto& what) { handle(now, what); }, command);
}

bool ZmqLinkCore::work(TimePoint now) {
  follow_keys(now);
  for (const ReadySet::Key key : parts_.attempts.admit(now)) {
    outgoing_.at(addresses_.at(key)).outgoing.begin(now);
    busy_.insert(key);
  }
  for (const auto& [key, due] : due_) {
    if (due <= now) busy_.insert(key);
  }
  for (const ReadySet::Key key : std::exchange(busy_, {})) work_on(now, key);
  int messages = 0;
  while (messages < kMessagesPerTurn) {
    follow_keys(now);  // nothing of a former key is handed on, also of what lies here
    std::optional<ZmqListener::Happened> happened = listener_.next(now);
    if (!happened) break;
    ++messages;
    std::visit([this, now](auto& what) { handle(now, what); }, *happened);
  }
  listener_.expire(now);
  give_up_meeting(now);
  return messages == kMessagesPerTurn;
}

bool ZmqLinkCore::wait(TimePoint now) {
  std::optional<TimePoint> next;
  const auto no_later_than = [&next](TimePoint time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [key, due] : due_) no_later_than(due);
  for (const NodeName& name : meeting_) no_later_than(peers_.at(name).meet_by);
  if (const auto due = parts_.attempts.next_due()) no_later_than(*due);
  if (!busy_.empty()) no_later_than(now);
  // Unfinished handshakes cost nothing while nothing else happens; the next turn drops them.
  bool called = false;
  for (const ReadySet::Key key : parts_.ready.wait(next ? std::max(Duration{0}, *next - now) : Duration{-1})) {
    if (key > kListener) busy_.insert(key);
    called = called || key == kCaller;
  }
  return called;
}

void ZmqLinkCore::close() {
  for (auto& [address, connection] : outgoing_) connection.outgoing.say_bye({});
  outgoing_.clear();
  peers_.clear();
}

void ZmqLinkCore::handle(TimePoint now, const Connect& order) {
  const std::string& address = order.address;
  if (address == parts_.self.peer.address) {
    return sink_.on_connect_failed(
        address, refused_connect(address, ErrorCode::bad_argument, address + " is this node's own address"));
  }
  const auto alias = aliases_.find(address);
  const PeerState* peer = alias != aliases_.end() ? &peers_.at(alias->second.peer) : peer_behind(address);
  if (parts_.keys() && peer != nullptr && peer->peer.name != order.name) {
    return sink_.on_connect_failed(
        address, refused_connect(address, ErrorCode::name_in_use,
                                 fmt::format("{} is up there, not \"{}\"", peer->peer.name, order.name)));
  }
  if (peer != nullptr && peer->up) {
    if (parts_.options.repeats_up) sink_.on_link_up(peer->peer);
    return;
  }
  bool& asked = alias != aliases_.end() ? alias->second.asked : connection_to(now, address, order.name).asked;
  asked = true;
}

void ZmqLinkCore::handle(TimePoint /*now*/, const StopConnecting& order) {
  const std::string& address = order.address;
  const auto alias = aliases_.find(address);
  const auto found = outgoing_.find(address);
  const bool is_alias = alias != aliases_.end();
  if (!is_alias && found == outgoing_.end()) return;
  if (!std::exchange(is_alias ? alias->second.asked : found->second.asked, false)) return;
  const Error why = refused_connect(address, ErrorCode::cancelled, "given up by this node");
  const PeerState* peer = is_alias ? &peers_.at(alias->second.peer) : peer_behind(address);
  if (peer == nullptr) {
    close(address);
  } else if (!peer->welcomed_here && !is_asked(*peer)) {
    outgoing_.at(peer->connection).outgoing.say_bye({});
    drop(NodeName(peer->peer.name), why);
  }
  sink_.on_connect_failed(address, why);
}

void ZmqLinkCore::handle(TimePoint now, Send& order) {
  const auto& [to, lane, frames] = order;
  const auto peer = peers_.find(to);
  const std::size_t limit = parts_.options.frame_bytes_max;
  const auto large = std::ranges::find_if(frames, [limit](const Frame& frame) { return frame.bytes.size() > limit; });
  if (large != frames.end()) {  // the peer would close the connection, again after each resend
    parts_.log_refusal(
        now, fmt::format("dropped a message to {}: a frame of {} bytes exceeds {}", to, large->bytes.size(), limit));
    parts_.audit(AuditEvent::limit, fmt::format("a frame to it exceeds {} bytes", limit), to);
  }
  if (peer == peers_.end() || !peer->second.up || large != frames.end()) {
    ++parts_.counters.dropped_messages;
    return;
  }
  Connection& connection = outgoing_.at(peer->second.connection);
  connection.outgoing.send(lane, std::move(order.frames));
  busy_.insert(connection.key);
}

void ZmqLinkCore::handle(TimePoint /*now*/, const Disconnect& order) {
  const auto& [name, farewell] = order;
  const auto found = peers_.find(name);
  if (found == peers_.end()) return;
  const Incarnation up = found->second.peer.incarnation;
  if (farewell.life.value_or(up) != up) return;
  outgoing_.at(found->second.connection).outgoing.say_bye(farewell);
  drop(name, detail::peer_error(found->second.peer, ErrorCode::cancelled, "disconnected by this node"));
}

void ZmqLinkCore::handle(TimePoint /*now*/, const Heard& event) {
  const PeerState* peer = find(event.peer, event.incarnation);
  if (peer != nullptr && peer->up) sink_.on_reach(event.peer, event.incarnation, event.change, event.silence);
}

void ZmqLinkCore::work_on(TimePoint now, ReadySet::Key key) {
  while (true) {
    const auto known = addresses_.find(key);
    if (known == addresses_.end()) return;  // closed
    const std::string address = known->second;
    ZmqOutgoing& outgoing = outgoing_.at(address).outgoing;
    std::optional<ZmqOutgoing::Happened> happened = outgoing.work(now);
    if (!happened) {
      if (const auto due = outgoing.next_due()) {
        due_.insert_or_assign(key, *due);
      } else {
        due_.erase(key);
      }
      return;
    }
    if (const auto* welcome = std::get_if<ZmqOutgoing::Welcomed>(&*happened)) {
      welcomed(now, address, welcome->session);
    } else if (auto* lost = std::get_if<ZmqOutgoing::Lost>(&*happened)) {
      failed(now, address, std::move(lost->why));
    } else {
      failed(now, address, std::get<ZmqOutgoing::Failed>(std::move(*happened)).why);
    }
  }
}

void ZmqLinkCore::welcomed(TimePoint now, const std::string& address, const Authenticated& session) {
  const Peer& peer = session.peer;
  if (PeerState* before = peer_behind(address);
      before != nullptr && (before->peer.name != peer.name || before->peer.incarnation != peer.incarnation)) {
    const bool same_name = before->peer.name == peer.name;
    const NodeName gone = before->peer.name;
    drop(gone,
         detail::peer_error(before->peer, same_name ? ErrorCode::peer_restarted : ErrorCode::peer_down,
                            same_name ? "restarted" : fmt::format("its address now belongs to {}", peer.name)),
         Keep::connection);
  }
  if (peer.name == parts_.self.peer.name || !make_room(now, peer, address)) {
    return failed(now, address,
                  refused_connect(address, ErrorCode::name_in_use,
                                  fmt::format("another node is up under the name {}", peer.name)));
  }
  const auto [found, made] = peers_.try_emplace(peer.name, PeerState{.peer = peer,
                                                                     .connection = address,
                                                                     .key = key_of(peer.name),
                                                                     .meet_by = now + parts_.meet_patience(),
                                                                     .early = {}});
  if (made) {
    meeting_.insert(peer.name);
    outgoing_.at(address).behind = peer.name;
  }
  if (found->second.connection != address) {  // reached before under another form of its address
    const bool asked = outgoing_.at(address).asked;
    close(address);
    aliases_.insert_or_assign(address, Alias{peer.name, asked && !found->second.up});
    if (asked && found->second.up && parts_.options.repeats_up) sink_.on_link_up(peer);
    return;
  }
  found->second.lease = session.pulse.lease;
  aim(session);
  check_up(found->second);
}

/// Sets the peer's address for beats. A host name is looked up on a separate thread, because that may take seconds.
void ZmqLinkCore::aim(const Authenticated& session) {
  const auto aim_at = [pulse = std::weak_ptr(parts_.pulse), name = session.peer.name, slot = session.slot,
                       key = session.pulse_key, mark = session.pulse_mark,
                       number = ++aims_](const std::optional<SocketAddress>& place) {
    const auto alive = pulse.lock();
    if (!alive || !place) return;
    alive->give([=](Pulse& beats, TimePoint) {
      beats.aim(name, {.address = *place, .slot = slot, .key = key, .mark = mark}, number);
    });
  };
  const std::string& address = session.pulse.address;
  if (const auto place = DatagramSocket::parse(address)) return aim_at(place);
  try {
    std::thread([address, aim_at] {
      try {
        aim_at(DatagramSocket::look_up(address));
      } catch (const std::bad_alloc&) {
        // As if the name is not found: no beats are sent, and the peer judges this silence.
      }
    }).detach();
  } catch (const std::system_error&) {  // no thread available
    aim_at(DatagramSocket::look_up(address));
  }
}

void ZmqLinkCore::failed(TimePoint now, const std::string& address, Error why) {
  if (const PeerState* peer = peer_behind(address)) {
    if (!peer->up && peer->welcomed_here && why.code == ErrorCode::peer_unreachable) {
      why.message = fmt::format("{}: {} reaches this node at {}, but not the other way round", why.message,
                                peer->peer.name, parts_.self.peer.address);
      why.hint = kOneWay;
      if (!is_asked(*peer)) parts_.log_refusal(now, fmt::format("{}; {}", why.message, why.hint));
    }
    return drop(NodeName(peer->peer.name), std::move(why));
  }
  const bool asked = outgoing_.at(address).asked;
  close(address);
  if (asked) sink_.on_connect_failed(address, why);
}

void ZmqLinkCore::handle(TimePoint now, ZmqListener::Proved& proved) {
  const Peer& peer = proved.peer;
  if (peer.name == parts_.self.peer.name || !make_room(now, peer, peer.address)) {
    listener_.refuse(proved.route, ErrorCode::name_in_use);
    parts_.log_refusal(now, fmt::format("refused {}: another node is up under that name", peer.name));
    parts_.audit(AuditEvent::refused, std::string(name_of(ErrorCode::name_in_use)), peer.name, peer.address);
    return;
  }
  auto found = peers_.find(peer.name);
  if (found == peers_.end()) {
    Connection& connection = connection_to(now, peer.address, peer.name);
    connection.behind = peer.name;
    connection.outgoing.hurry();
    const TimePoint meet_by = now + parts_.meet_patience();
    found = peers_
                .emplace(peer.name, PeerState{.peer = peer,
                                              .connection = peer.address,
                                              .key = key_of(peer.name),
                                              .meet_by = meet_by,
                                              .early = {}})
                .first;
    meeting_.insert(peer.name);
  }
  found->second.welcomed_here = true;
  listener_.welcome(proved.route);
  check_up(found->second);
}

void ZmqLinkCore::handle(TimePoint /*now*/, ZmqListener::Message& message) {
  PeerState* peer = find(message.from, message.incarnation);
  if (peer == nullptr) return;
  if (peer->up) return sink_.on_frames(message.from, message.incarnation, std::move(message.frames));
  // The peer is up with this node already; this node's side follows.
  const std::size_t bytes = size_of(message.frames);
  if (!peer->early.empty() && peer->early_bytes + bytes > parts_.options.backlog_bytes_max) {
    ++parts_.counters.dropped_messages;
    parts_.audit(AuditEvent::limit, "messages before it was up", message.from);
    return;
  }
  peer->early_bytes += bytes;
  peer->early.push_back(std::move(message.frames));
}

void ZmqLinkCore::handle(TimePoint /*now*/, ZmqListener::Bye& bye) {
  if (const PeerState* peer = find(bye.from, bye.incarnation)) {
    drop(bye.from, detail::peer_error(peer->peer, bye.farewell.code, bye.farewell.message));
  }
}

ZmqLinkCore::PeerState* ZmqLinkCore::find(const NodeName& name, Incarnation incarnation) {
  const auto found = peers_.find(name);
  return found != peers_.end() && found->second.peer.incarnation == incarnation ? &found->second : nullptr;
}

ZmqLinkCore::PeerState* ZmqLinkCore::peer_behind(const std::string& address) {
  const auto found = outgoing_.find(address);
  return found != outgoing_.end() && found->second.behind ? &peers_.at(*found->second.behind) : nullptr;
}

bool ZmqLinkCore::lives(const PeerState& peer) const { return outgoing_.at(peer.connection).outgoing.connected(); }

/// Returns whether a `connect` to one of the peer's addresses is not answered yet.
bool ZmqLinkCore::is_asked(const PeerState& peer) const {
  return outgoing_.at(peer.connection).asked || std::ranges::any_of(aliases_, [&peer](const auto& entry) {
           return entry.second.peer == peer.peer.name && entry.second.asked;
         });
}

// With keys, a connection reaches the node whose key it was made for, and no other.
ZmqLinkCore::Connection& ZmqLinkCore::connection_to(TimePoint now, const std::string& address, const NodeName& name) {
  const auto found = outgoing_.find(address);
  if (found != outgoing_.end() && (!parts_.keys() || found->second.outgoing.name() == name)) return found->second;
  if (found != outgoing_.end()) {
    failed(now, address, refused_connect(address, ErrorCode::not_authorized, fmt::format("{} is there", name)));
  }
  const ReadySet::Key key = ++last_key_;
  addresses_.emplace(key, address);
  busy_.insert(key);
  return outgoing_.emplace(address, Connection{.key = key, .outgoing = ZmqOutgoing(parts_, address, name, key, now)})
      .first->second;
}

void ZmqLinkCore::close(const std::string& address) {
  const auto found = outgoing_.find(address);
  addresses_.erase(found->second.key);
  due_.erase(found->second.key);
  parts_.attempts.over(found->second.key);
  outgoing_.erase(found);
}

// Ends the former life of the newcomer's name and the former node at the newcomer's address, unless they are alive.
// Returns whether name and address are free. A live connection to the newcomer's own address says nothing about a host
// that went down without a word: who is there now is asked, and the newcomer comes again.
bool ZmqLinkCore::make_room(TimePoint now, const Peer& newcomer, const std::string& address) {
  if (const PeerState* tenant = peer_behind(address); tenant != nullptr && tenant->peer.name != newcomer.name) {
    if (lives(*tenant)) return false;
    drop(NodeName(tenant->peer.name), detail::peer_error(tenant->peer, ErrorCode::peer_down,
                                                         fmt::format("its address now belongs to {}", newcomer.name)));
  }
  const auto found = peers_.find(newcomer.name);
  if (found == peers_.end() || found->second.peer.incarnation == newcomer.incarnation) return true;
  const PeerState& before = found->second;
  const bool same_place = before.connection == address || before.peer.address == newcomer.address;
  Connection& to_before = outgoing_.at(before.connection);
  if (same_place && lives(before)) {
    to_before.outgoing.ask_again(now);
    busy_.insert(to_before.key);
  }
  if (lives(before) || to_before.outgoing.is_asking()) return false;
  // Neither side hears of the end of a peer that was not up: it gives up once its patience is over.
  if (before.welcomed_here && !before.up) {
    parts_.log_refusal(now, fmt::format("gives up {} at {}, which it has not reached yet: another node of that name "
                                        "has come, from {}",
                                        newcomer.name, before.peer.address, newcomer.address));
  }
  drop(newcomer.name, detail::peer_error(before.peer, ErrorCode::peer_restarted, "restarted"));
  return true;
}

void ZmqLinkCore::check_up(PeerState& peer) {
  if (peer.up || !peer.welcomed_here || !outgoing_.at(peer.connection).outgoing.welcomed()) return;
  peer.up = true;
  meeting_.erase(peer.peer.name);
  outgoing_.at(peer.connection).asked = false;
  for (auto& [address, alias] : aliases_) {
    if (alias.peer == peer.peer.name) alias.asked = false;
  }
  parts_.pulse->give([life = peer.peer, lease = peer.lease](Pulse& pulse, TimePoint now) {
    pulse.watch(life.name, life.incarnation, lease, now);
  });
  parts_.audit(AuditEvent::joined, {}, peer.peer.name, peer.peer.address);
  std::vector<Frames> early = std::exchange(peer.early, {});
  sink_.on_link_up(peer.peer);
  for (Frames& frames : early) sink_.on_frames(peer.peer.name, peer.peer.incarnation, std::move(frames));
}

void ZmqLinkCore::give_up_meeting(TimePoint now) {
  while (true) {
    const auto is_late = [&](const NodeName& name) { return peers_.at(name).meet_by <= now; };
    const auto late = std::ranges::find_if(meeting_, is_late);
    if (late == meeting_.end()) return;
    const PeerState& peer = peers_.at(*late);
    if (peer.welcomed_here) {
      failed(now, std::string(peer.connection),
             detail::peer_error(peer.peer, ErrorCode::peer_unreachable,
                                fmt::format("{} does not answer", peer.peer.address)));
    } else {
      Error why = detail::peer_error(peer.peer, ErrorCode::peer_unreachable,
                                     fmt::format("{}, which answers at {}, did not connect back to {}", peer.peer.name,
                                                 peer.connection, parts_.self.peer.address));
      why.hint = kOneWay;
      drop(NodeName(*late), std::move(why));
    }
  }
}

// By value: the caller's references may point into what is erased here.
std::optional<PublicKey> ZmqLinkCore::key_of(const NodeName& name) const {
  return parts_.keys() ? parts_.keys()->key_of(name) : std::nullopt;
}

/// Ends and renews connections since keys of the ring were replaced.
void ZmqLinkCore::follow_keys(TimePoint now) {
  if (!parts_.keys() || parts_.keys()->version() == keys_version_) return;
  keys_version_ = parts_.keys()->version();
  end_former_members(now);
  const PublicKey own_key = parts_.keys()->own_keys().public_key();
  if (own_key == own_key_) return;
  own_key_ = own_key;
  if (const auto listens = listener_.use_new_keys(); !listens) return sink_.on_link_failed(listens.error());
  for (auto& [address, connection] : outgoing_) {
    connection.outgoing.use_new_keys(now);
    busy_.insert(connection.key);
  }
}

/// Ends the sessions of all keys that are not of members any more. Members that are out are down; with those that have
/// another key this node goes on: they are down unless they prove it within their lease.
void ZmqLinkCore::end_former_members(TimePoint now) {
  listener_.forget_former_members();
  std::vector<NodeName> out;
  for (auto& [name, peer] : peers_) {
    const std::optional<PublicKey> key = key_of(name);
    if (key == peer.key) continue;
    if (!key || !peer.up) {
      out.push_back(name);
      continue;
    }
    peer.key = key;
    Connection& connection = outgoing_.at(peer.connection);
    connection.outgoing.use_new_keys(now);
    busy_.insert(connection.key);
  }
  for (const NodeName& name : out) {
    const PeerState& peer = peers_.at(name);
    outgoing_.at(peer.connection)
        .outgoing.say_bye(
            {ErrorCode::peer_down, fmt::format("{} does not let this node's key in any more", parts_.self.peer.name)});
    drop(name, detail::peer_error(peer.peer, ErrorCode::peer_down,
                                  key_of(name) ? "its key was replaced while it connected"
                                               : "its key is not in the list of members any more"));
  }
}

void ZmqLinkCore::drop(const NodeName& name, Error why, Keep keep) {
  auto node = peers_.extract(name);
  if (node.empty()) return;
  const PeerState& peer = node.mapped();
  listener_.forget(peer.peer.name);
  parts_.pulse->give([name = peer.peer.name](Pulse& pulse, TimePoint) { pulse.forget(name); });
  std::vector<std::string> asked;
  if (outgoing_.at(peer.connection).asked && keep == Keep::nothing) asked.push_back(peer.connection);
  std::erase_if(aliases_, [&](const auto& entry) {
    if (entry.second.peer != peer.peer.name) return false;
    if (entry.second.asked) asked.push_back(entry.first);
    return true;
  });
  meeting_.erase(peer.peer.name);
  outgoing_.at(peer.connection).behind.reset();
  if (keep == Keep::nothing) {
    close(peer.connection);
  } else {
    outgoing_.at(peer.connection).outgoing.forget_backlog();
  }
  if (peer.up) {
    parts_.audit(AuditEvent::left, fmt::format("{}: {}", name_of(why.code), why.message), peer.peer.name,
                 peer.peer.address);
    sink_.on_link_down(peer.peer.name, peer.peer.incarnation, why);
  }
  for (const std::string& address : asked) sink_.on_connect_failed(address, why);
}

}  // namespace troupe
