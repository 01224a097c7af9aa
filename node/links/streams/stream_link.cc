#include "node/links/streams/stream_link.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "node/links/socket_address.h"
#include "node/links/tcp_place.h"

namespace troupe {

using detail::Cipher;
using detail::StreamControl;
using detail::StreamSecret;
using detail::StreamTerms;

namespace {

/// The place of a peer's stream: the host at which its link listens, and another port there. nullopt if the host is
/// a name.
std::optional<SocketAddress> place_beside(const std::string& address, std::uint16_t port) {
  std::optional<TcpPlace> place = TcpPlace::parse(address);
  if (!place) return std::nullopt;
  place->port = std::to_string(port);
  constexpr std::string_view kTcp = "tcp://";
  return host_address(std::string_view(place->text()).substr(kTcp.size()));
}

bool is_on_loopback(const std::string& address) {
  const std::optional<TcpPlace> place = TcpPlace::parse(address);
  return place && is_loopback(place->host);
}

}  // namespace

StreamLink::StreamLink(std::unique_ptr<Link> inner, StreamLinkOptions options)
    : options_(std::move(options)),
      inner_(std::move(inner)),
      receiver_(options_.receiver,
                {.arrived = [this](const NodeLife& from,
                                   Frames packet) { sink_->on_frames(from.name, from.incarnation, std::move(packet)); },
                 .refused =
                     [this](std::string_view line) {
                       if (options_.audit) options_.audit({.event = AuditEvent::refused, .reason = std::string(line)});
                       log(line);
                     },
                 .failed = [this](const Error& why) { sink_->on_link_failed(why); }}),
      sender_(
          options_.sender, [this](detail::StreamSender::Ended ended) { stream_ended(std::move(ended)); },
          [this](const Error& why) { sink_->on_link_failed(why); }) {}

StreamLink::~StreamLink() { stop(); }

void StreamLink::start(LinkSink& sink) {
  sink_ = &sink;
  if (options_.keys) {
    own_key_ = options_.keys->own_keys().public_key();
    keys_watch_->link = this;
    options_.keys->on_change(keys_watch_, [watch = keys_watch_.get()] {
      const std::lock_guard lock(watch->mutex);  // stop() waits; what is called closes sockets only
      if (watch->link != nullptr) watch->link->follow_keys();
    });
  }
  inner_->start(*this);
}

void StreamLink::stop() {
  {
    const std::lock_guard lock(keys_watch_->mutex);
    keys_watch_->link = nullptr;
  }
  inner_->stop();
  receiver_.stop();
  sender_.stop();
}

std::optional<StreamUse> StreamLink::streams() const {
  if (!options_.has_streams) return std::nullopt;
  StreamUse counts{.out_streams = sender_.open_streams(),
                   .in_streams = receiver_.open_streams(),
                   .encrypted = options_.keys.has_value(),
                   .packets_sent = sender_.packets(),
                   .packets_received = receiver_.packets(),
                   .dropped = sender_.dropped(),
                   .refused = receiver_.refused()};
  const std::lock_guard lock(mutex_);
  counts.refused += refused_;
  return counts;
}

std::map<NodeName, PeerTransport> StreamLink::transports() const {
  std::map<NodeName, PeerTransport> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, other] : others_) {
    const bool is_open = other.state == Other::State::opened && sender_.is_open(name);
    PeerTransport& transport = all[name];
    transport.way = is_open ? "tcp + stream" : "tcp";
    if (options_.keys) transport.way += ", encrypted";
    else if (is_on_loopback(other.peer.address)) transport.why = "no shared memory: it listens at tcp, not ipc";
    if (is_open) continue;
    std::string_view why = other.why_none;
    if (!options_.has_streams) why = "streams are off here";
    else if (why.empty()) why = other.state == Other::State::closed ? "no large message so far" : "it is being opened";
    transport.why += fmt::format("{}no stream: {}", transport.why.empty() ? "" : "; ", why);
  }
  return all;
}

void StreamLink::send(const NodeName& to, LinkLane lane, Frames packet) {
  if (options_.has_streams && lane == LinkLane::bulk && detail::fits_record(packet)) {
    if (sender_.send(to, packet)) return;
    open_stream(to);
  }
  inner_->send(to, lane, std::move(packet));
}

void StreamLink::on_frames(const NodeName& from, Incarnation incarnation, Frames frames) {
  if (!detail::is_stream_control(frames)) return sink_->on_frames(from, incarnation, std::move(frames));
  const auto control = detail::decode_stream_control(frames.front());
  if (!control) return refuse(fmt::format("dropped a malformed message about streams of {}", from));
  obey(from, incarnation, *control);
}

void StreamLink::on_link_up(const Peer& peer) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(peer.name);
    if (found == others_.end() || found->second.peer.incarnation != peer.incarnation)
      others_.insert_or_assign(
          peer.name, Other{.peer = peer, .key = options_.keys ? options_.keys->key_of(peer.name) : std::nullopt});
  }
  sink_->on_link_up(peer);
}

void StreamLink::on_link_down(const NodeName& peer, Incarnation incarnation, const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(peer);
    if (found != others_.end() && found->second.peer.incarnation == incarnation) others_.erase(found);
  }
  sender_.close(peer);
  receiver_.remove({peer, incarnation});
  sink_->on_link_down(peer, incarnation, why);
}

void StreamLink::on_reach(const NodeName& peer, Incarnation incarnation, Reach change, Duration silence) {
  sink_->on_reach(peer, incarnation, change, silence);
}

void StreamLink::on_link_failed(const Error& why) { sink_->on_link_failed(why); }

void StreamLink::on_connect_failed(std::string_view address, const Error& why) {
  sink_->on_connect_failed(address, why);
}

detail::CipherSet StreamLink::ciphers() const {
  return options_.keys ? detail::encrypting_ciphers() : detail::only(Cipher::none);
}

/// Returns what is known of a stream between this node and `peer` before they talk of it.
Result<StreamTerms> StreamLink::terms_with(const Peer& peer, bool opens) const {
  StreamTerms terms;
  const NodeLife own{options_.name, options_.incarnation};
  const NodeLife other{peer.name, peer.incarnation};
  terms.opener = opens ? own : other;
  terms.acceptor = opens ? other : own;
  if (!options_.keys) return terms;
  const std::optional<PublicKey> its_key = options_.keys->key_of(peer.name);
  if (!its_key) return make_error(ErrorCode::not_authorized, "its key is not in the list of members");
  const PublicKey own_key = options_.keys->own_keys().public_key();
  terms.opener_key = opens ? own_key : *its_key;
  terms.acceptor_key = opens ? *its_key : own_key;
  return terms;
}

/// Returns whether the keys of `terms` still count. A stream that was registered before they are compared is ended by
/// follow_keys if they are replaced later.
bool StreamLink::has_keys_of(const StreamTerms& terms, const Peer& peer, bool opens) const {
  const Result<StreamTerms> now = terms_with(peer, opens);
  return now && now.value().opener_key == terms.opener_key && now.value().acceptor_key == terms.acceptor_key;
}

/// Ends the streams of keys that were replaced. Packets on them are sent again by the sessions, on the link below or on
/// the streams that these open.
void StreamLink::follow_keys() {
  std::vector<NodeLife> renewed;
  {
    const std::lock_guard lock(mutex_);
    const PublicKey own_key = options_.keys->own_keys().public_key();
    const bool all = std::exchange(own_key_, own_key) != own_key;
    for (auto& [name, other] : others_) {
      const std::optional<PublicKey> key = options_.keys->key_of(name);
      if (!all && key == other.key) continue;
      other = Other{.peer = other.peer, .key = key, .last_opened_here = other.last_opened_here};
      renewed.push_back({name, other.peer.incarnation});
    }
  }
  for (const NodeLife& peer : renewed) {
    sender_.close(peer.name);
    receiver_.remove(peer);
  }
}

void StreamLink::open_stream(const NodeName& to) {
  StreamControl control{.kind = StreamControl::Kind::open, .ciphers = ciphers()};
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(to);
    if (found == others_.end()) return;
    Other& other = found->second;
    const TimePoint now = std::chrono::steady_clock::now();
    if (other.state == Other::State::asked && now >= other.answer_by) {
      other.why_none = "it has not answered";
      put_off(other, now);
    }
    if (other.state != Other::State::closed || now < other.retry_at) return;
    try {
      other.secret = StreamSecret::random();
    } catch (const std::bad_alloc&) {
      return put_off(other, now);
    }
    other.state = Other::State::asked;
    other.id = detail::random_stream_id();
    other.answer_by = now + options_.answer_patience;
    control.id = other.id;
    control.share = other.secret->share();
  }
  say(to, control);
}

/// REQUIRES: mutex_ is held.
void StreamLink::put_off(Other& other, TimePoint now) const {
  other.state = Other::State::closed;
  other.secret.reset();
  other.retry_gap = std::clamp(2 * other.retry_gap, options_.retry_min, options_.retry_max);
  other.retry_at = now + other.retry_gap;
}

void StreamLink::say(const NodeName& to, const StreamControl& control) {
  inner_->send(to, LinkLane::express, {detail::encode(control)});
}

void StreamLink::obey(const NodeName& from, Incarnation incarnation, const StreamControl& control) {
  std::optional<Peer> peer;
  std::optional<StreamSecret> secret;
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(from);
    if (found == others_.end() || found->second.peer.incarnation != incarnation) return;
    Other& other = found->second;
    peer = other.peer;
    if (control.kind != StreamControl::Kind::open) {  // an answer to what was not asked, or not any more, is nothing
      if (other.state != Other::State::asked || other.id != control.id) return;
      secret = std::exchange(other.secret, std::nullopt);
      other.state = Other::State::opened;
      other.opened_at = std::chrono::steady_clock::now();
      if (control.kind == StreamControl::Kind::refuse) {
        other.why_none = control.reason;
        put_off(other, other.opened_at);
      }
    }
  }
  switch (control.kind) {
    case StreamControl::Kind::open: return accept_stream(*peer, control);
    case StreamControl::Kind::accept: return connect_stream(*peer, *secret, control);
    case StreamControl::Kind::refuse:
      if (!is_news(from, control.reason)) return;
      return log(fmt::format("{} accepts no stream, large messages to it share the connection of small ones: {}", from,
                             control.reason));
  }
}

void StreamLink::accept_stream(const Peer& from, const StreamControl& open) {
  Result<StreamControl> answer = make_error(ErrorCode::resource_exhausted, "it has no memory for a stream");
  try {
    answer = answer_to(from, open);
  } catch (const std::bad_alloc&) {  // large messages have another way
  }
  if (answer) return say(from.name, answer.value());
  say(from.name, {.kind = StreamControl::Kind::refuse, .id = open.id, .reason = answer.error().message});
}

Result<StreamControl> StreamLink::answer_to(const Peer& from, const StreamControl& open) {
  if (!options_.has_streams) return make_error(ErrorCode::bad_argument, "its streams are off");
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(from.name);
    const TimePoint now = std::chrono::steady_clock::now();
    const bool is_up = found != others_.end();
    if (!is_up || (found->second.last_opened_here && now - *found->second.last_opened_here < options_.open_gap))
      return make_error(ErrorCode::resource_exhausted, "it opens them too often");
    found->second.last_opened_here = now;
  }
  const std::optional<Cipher> cipher = detail::best_of(open.ciphers, ciphers());
  if (!cipher) return make_error(ErrorCode::not_authorized, "it offers no cipher that this node takes");
  Result<StreamTerms> terms = terms_with(from, false);
  if (!terms) return terms.error();
  const StreamSecret secret = StreamSecret::random();
  terms.value().id = open.id;
  terms.value().cipher = *cipher;
  terms.value().opener_share = open.share;
  terms.value().acceptor_share = secret.share();
  const auto key = secret.agree(open.share, terms.value());
  if (!key) return make_error(ErrorCode::protocol_violation, "its share makes no key");
  const auto port = receiver_.expect({from.name, from.incarnation}, open.id, *key, *cipher);
  if (!port) return port.error();
  if (!has_keys_of(terms.value(), from, false)) {
    receiver_.remove({from.name, from.incarnation});
    return make_error(ErrorCode::not_authorized, "a key was just replaced");
  }
  return StreamControl{.kind = StreamControl::Kind::accept,
                       .id = open.id,
                       .share = secret.share(),
                       .ciphers = detail::only(*cipher),
                       .port = port.value()};
}

void StreamLink::connect_stream(const Peer& to, const StreamSecret& secret, const StreamControl& accept) {
  const Result<Unit> connected = connect_with(to, secret, accept);
  if (connected) return;
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(to.name);
    if (found != others_.end() && found->second.id == accept.id) {
      found->second.why_none = connected.error().message;
      put_off(found->second, std::chrono::steady_clock::now());
    }
  }
  const Error& why = connected.error();
  const std::string line = fmt::format("opens no stream to {}: {}", to.name, why.message);
  if (why.code == ErrorCode::protocol_violation) return refuse(line);
  if (is_news(to.name, why.message)) log(line);
}

/// Errors: protocol_violation, if the peer's answer is none.
Result<Unit> StreamLink::connect_with(const Peer& to, const StreamSecret& secret, const StreamControl& accept) {
  using enum ErrorCode;
  const std::optional<Cipher> cipher = detail::best_of(accept.ciphers, ciphers());
  if (!cipher) return make_error(protocol_violation, "it chose a cipher that was not offered");
  Result<StreamTerms> terms = terms_with(to, true);
  if (!terms) return terms.error();
  terms.value().id = accept.id;
  terms.value().cipher = *cipher;
  terms.value().opener_share = secret.share();
  terms.value().acceptor_share = accept.share;
  const auto key = secret.agree(accept.share, terms.value());
  if (!key) return make_error(protocol_violation, "its share makes no key");
  const std::optional<SocketAddress> place = place_beside(to.address, accept.port);
  if (!place) return make_error(bad_argument, fmt::format("{} is no numeric address", to.address));
  try {
    sender_.open({to.name, to.incarnation}, accept.id, *key, *cipher, *place);
  } catch (const std::system_error&) {
    return make_error(resource_exhausted, "no thread can be started, or no descriptor is free");
  } catch (const std::bad_alloc&) {
    return make_error(resource_exhausted, "no memory for a stream");
  }
  if (has_keys_of(terms.value(), to, true)) return Unit{};
  sender_.close(to.name);
  return make_error(not_authorized, "a key was just replaced");
}

void StreamLink::stream_ended(detail::StreamSender::Ended ended) {
  bool is_failure = !ended.was_open;
  {
    const std::lock_guard lock(mutex_);
    const auto found = others_.find(ended.peer.name);
    if (found != others_.end() && found->second.id == ended.id && found->second.state == Other::State::opened) {
      Other& other = found->second;
      const TimePoint now = std::chrono::steady_clock::now();
      // One that ends soon after it was connected may have reached something that accepts and closes, each time.
      const bool has_lasted = ended.worn || (ended.was_open && now - other.opened_at >= options_.retry_max);
      if (has_lasted) other.retry_gap = Duration{0};
      is_failure = !has_lasted && (is_failure || other.retry_gap > Duration{0});
      other.why_none = ended.worn ? "its key is worn" : ended.why;
      put_off(other, now);
      if (ended.worn) other.retry_at = now;
    }
  }
  // One that was open ends with its peer, or is opened again by the next packet.
  if (is_failure) {
    log(fmt::format("the stream to {} does not stay open, large messages to it share the connection of small ones: {}",
                    ended.peer.name, ended.why));
  }
  for (Frames& packet : ended.left) inner_->send(ended.peer.name, LinkLane::bulk, std::move(packet));
}

/// Returns whether the last failure that was logged of streams to `peer` had another reason.
bool StreamLink::is_news(const NodeName& peer, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const auto found = others_.find(peer);
  return found != others_.end() && std::exchange(found->second.last_why, why) != why;
}

void StreamLink::log(std::string_view line) {
  if (!options_.log) return;
  {
    const std::lock_guard lock(mutex_);
    if (!lines_.take(std::chrono::steady_clock::now())) return;
  }
  options_.log(line);
}

void StreamLink::refuse(std::string_view line) {
  {
    const std::lock_guard lock(mutex_);
    ++refused_;
  }
  log(line);
}

}  // namespace troupe
