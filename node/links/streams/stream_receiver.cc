#include "node/links/streams/stream_receiver.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <new>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "actors/core/guarded.h"
#include "messages/frame.h"
#include "node/links/socket_address.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kStrangersMax = 64;
constexpr std::size_t kExpectedOfPeerMax = 2;
constexpr std::size_t kStreamsOfPeerMax = 2;  ///< one, and the one before it, whose last bytes are still to be read
constexpr int kPacketsPerTurn = 16;           ///< then other streams have theirs
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};
constexpr ReadySet::Key kWakeUp = 0;
constexpr ReadySet::Key kListener = 1;
constexpr ReadySet::Key kFirstConnection = 2;

std::optional<SocketAddress> place_of(const std::string& host, int port) {
  const std::string numeric = is_any_address(host) && host == "*" ? "0.0.0.0" : host;
  return host_address(numeric.find(':') != std::string::npos ? fmt::format("[{}]:{}", numeric, port)
                                                             : fmt::format("{}:{}", numeric, port));
}

std::uint16_t bound_port_of(int socket) {
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) != 0) return 0;
  return ntohs(bound.family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound.bytes)->sin6_port
                                          : reinterpret_cast<const sockaddr_in*>(&bound.bytes)->sin_port);
}

/// Returns a listening socket; not open if this port is taken.
FileDescriptor listener_at(const std::string& host, int port) {
  const std::optional<SocketAddress> place = place_of(host, port);
  if (!place) return {};
  FileDescriptor socket(::socket(place->family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket.is_open()) return {};
  // Without SO_REUSEADDR: a launcher may have reserved this port for another node.
  if (::bind(socket.get(), place->get(), place->size) != 0 || ::listen(socket.get(), 128) != 0) return {};
  return socket;
}

}  // namespace

StreamReceiver::StreamReceiver(StreamReceiverOptions options, Callbacks callbacks)
    : options_(std::move(options)), callbacks_(std::move(callbacks)) {}

Result<std::uint16_t> StreamReceiver::expect(const NodeLife& peer, const StreamId& id, const StreamKey& key,
                                             Cipher cipher) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return make_error(ErrorCode::shutting_down, "the node is shutting down");
  const TimePoint now = std::chrono::steady_clock::now();
  std::erase_if(expected_, [now](const auto& each) { return each.second.until <= now; });
  const auto of_peer = std::ranges::count_if(expected_, [&peer](const auto& each) { return each.second.peer == peer; });
  if (static_cast<std::size_t>(of_peer) >= kExpectedOfPeerMax)
    return make_error(ErrorCode::resource_exhausted, "it has not begun the streams that it opened before");
  if (port_ == 0) {
    if (const auto listening = listen(); !listening) return listening.error();
  }
  if (peers_.try_emplace(peer, last_era_ + 1).second) ++last_era_;
  expected_.insert_or_assign(
      id, Expected{.peer = peer, .key = key, .cipher = cipher, .until = now + options_.announced_patience});
  return port_;
}

/// REQUIRES: mutex_ is held.
Result<Unit> StreamReceiver::listen() {
  if (!options_.ports) listener_ = listener_at(options_.host, 0);
  for (int port = options_.ports ? options_.ports->low : 1; options_.ports && port <= options_.ports->high; ++port) {
    if (port == options_.port_of_first) continue;
    listener_ = listener_at(options_.host, port);
    if (listener_.is_open()) break;
  }
  if (!listener_.is_open()) {
    return make_error(ErrorCode::resource_exhausted,
                      options_.ports ? fmt::format("no port of {} is free at {}", options_.ports->text(), options_.host)
                                     : fmt::format("cannot listen at {}", options_.host));
  }
  spare_.take_back();
  try {
    ready_.emplace();
    if (const auto watched = ready_->add(wake_up_.descriptor(), kWakeUp); !watched || !watch_listener()) {
      listener_.close();
      return make_error(ErrorCode::resource_exhausted, "no connection can be watched");
    }
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    listener_.close();
    return make_error(ErrorCode::resource_exhausted, "no thread can be started, or no descriptor is free");
  }
  port_ = bound_port_of(listener_.get());
  return Unit{};
}

void StreamReceiver::remove(const NodeLife& peer) {
  {
    std::unique_lock lock(mutex_);
    const bool is_known = peers_.erase(peer) > 0;
    std::erase_if(expected_, [&peer](const auto& each) { return each.second.peer == peer; });
    // Also if another thread has removed it, and waits for the same packet. Callbacks do not block.
    delivered_.wait(lock, [&] { return delivering_ != peer; });
    if (!is_known) return;
  }
  wake_up_.ring();
}

void StreamReceiver::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
  }
  wake_up_.ring();
  if (thread.joinable()) thread.join();
}

void StreamReceiver::run() {
  try {
    while (take_orders(std::chrono::steady_clock::now())) read_connections();
  } catch (...) {
    const Error why = failure_of_current_exception("the receiver of streams");
    {
      const std::lock_guard lock(mutex_);
      delivering_.reset();
      peers_.clear();
      stopped_ = true;
    }
    delivered_.notify_all();
    callbacks_.failed(why);
  }
  ready_.reset();
  streams_.clear();
  strangers_.clear();
  listener_.close();
  open_ = 0;
}

bool StreamReceiver::take_orders(TimePoint now) {
  while (!strangers_.empty() && now >= strangers_.begin()->second.prove_by)
    refuse_stranger(strangers_.begin(), "it did not say what it is");
  Connections removed;  // end without the lock
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    const bool is_woken = std::exchange(is_woken_, false);
    for (auto at = streams_.begin(); is_woken && at != streams_.end();) {
      const auto one = at++;
      if (!is_current(one->second)) removed.insert(streams_.extract(one));
    }
  }
  while (!removed.empty()) close(removed, removed.begin());
  open_ = streams_.size();
  return true;
}

StreamReceiver::Connections::iterator StreamReceiver::close(Connections& those, Connections::iterator at) {
  ready_->remove(at->second.stream.descriptor());
  return those.erase(at);
}

bool StreamReceiver::watch_listener() { return ready_->add(listener_.get(), kListener).ok(); }

void StreamReceiver::read_connections() {
  const TimePoint now = std::chrono::steady_clock::now();
  if (accept_again_ && now >= *accept_again_) {
    accept_again_.reset();
    if (!watch_listener()) accept_again_ = now + kAcceptPause;
  }
  std::optional<TimePoint> due = accept_again_;
  if (!strangers_.empty()) {
    const TimePoint prove_by = strangers_.begin()->second.prove_by;
    due = due ? std::min(*due, prove_by) : prove_by;
  }
  bool has_strangers = false;
  for (const ReadySet::Key key : ready_->wait(due ? std::max(Duration{0}, *due - now) : Duration{-1})) {
    if (key == kWakeUp) {
      wake_up_.silence();
      is_woken_ = true;
    } else if (key == kListener) {
      has_strangers = true;
    } else if (const auto stream = streams_.find(key); stream != streams_.end()) {
      read(streams_, stream);
    } else if (const auto stranger = strangers_.find(key); stranger != strangers_.end()) {
      read(strangers_, stranger);
    }
  }
  for (const NodeLife& peer : std::exchange(proved_, {})) leave_newest(peer);
  if (has_strangers) accept_strangers(std::chrono::steady_clock::now());  // the wait may have taken hours
}

void StreamReceiver::read(Connections& those, Connections::iterator at) {
  if (read(at->second) == Keep::no) {
    close(those, at);
  } else if (&those == &strangers_ && at->second.peer) {
    streams_.insert(strangers_.extract(at));
  }
}

/// Ends the oldest streams of `peer` beyond those that it may have.
void StreamReceiver::leave_newest(const NodeLife& peer) {
  auto count = static_cast<std::size_t>(
      std::ranges::count_if(streams_, [&](const auto& each) { return each.second.peer == peer; }));
  for (auto at = streams_.begin(); count > kStreamsOfPeerMax;) {
    const bool is_of_peer = at->second.peer == peer;
    if (is_of_peer) --count;
    at = is_of_peer ? close(streams_, at) : std::next(at);
  }
}

void StreamReceiver::accept_strangers(TimePoint now) {
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    SocketAddress from;
    from.size = sizeof from.bytes;
    FileDescriptor socket(
        ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from.bytes), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      const bool has_no_descriptor = errno == EMFILE || errno == ENFILE;
      const bool has_no_memory = errno == ENOBUFS || errno == ENOMEM;
      // A stream that is never read would swallow what its peer sends: closed, its packets take the link below.
      if (has_no_descriptor && turn_away()) return;  // `wait` tells of the next: without a descriptor accept does not
      if (has_no_descriptor || has_no_memory) {      // the connection waits, and `wait` would tell of it at once
        ready_->remove(listener_.get());
        accept_again_ = now + kAcceptPause;
      }
      return;
    }
    if (strangers_.size() == kStrangersMax)
      refuse_stranger(strangers_.begin(), "too many connections have not identified themselves");
    const int descriptor = socket.get();
    const auto stranger = strangers_.emplace_hint(strangers_.end(), kFirstConnection + last_key_++,
                                                  Connection{.stream = InStream(std::move(socket)),
                                                             .from = host_and_port_of(from),
                                                             .peer = {},
                                                             .prove_by = now + options_.proof_patience});
    if (const auto watched = ready_->add(descriptor, stranger->first); !watched)
      refuse_stranger(stranger, watched.error().message);
  }
}

void StreamReceiver::refuse_stranger(Connections::iterator stranger, std::string_view why) {
  refuse(fmt::format("closed a connection of {}: {}", stranger->second.from, why));
  close(strangers_, stranger);
}

bool StreamReceiver::turn_away() {
  if (!spare_.give_up()) {
    spare_.take_back();  // another thread was faster last time
    return false;
  }
  const bool was_accepted = FileDescriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)).is_open();
  spare_.take_back();
  if (was_accepted) refuse("closed a connection: this process may open no more descriptors");
  return was_accepted;
}

StreamReceiver::Keep StreamReceiver::read(Connection& connection) {
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    std::optional<InStream::Happened> happened;
    try {
      happened = connection.stream.read();
    } catch (const std::bad_alloc&) {  // the peer chooses how much a record asks for
      happened = InStream::Closed{.why = "no memory for a record", .refused = true};
    }
    if (!happened) return Keep::yes;
    if (const auto* claim = std::get_if<InStream::Claimed>(&*happened)) {
      if (prove(connection, claim->preamble) == Keep::no) return Keep::no;
    } else if (auto* arrived = std::get_if<InStream::Arrived>(&*happened)) {
      if (!deliver(connection, std::move(arrived->packet))) return Keep::no;
    } else {
      const auto& closed = std::get<InStream::Closed>(*happened);
      if (closed.refused) {
        refuse(fmt::format("ended a stream of {}: {}", connection.peer ? connection.peer->name : connection.from,
                           closed.why));
      }
      return Keep::no;
    }
  }
  return Keep::yes;
}

StreamReceiver::Keep StreamReceiver::prove(Connection& connection, const Preamble& preamble) {
  {
    const TimePoint now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    const auto found = expected_.find(id_of(preamble));
    if (found != expected_.end() && now < found->second.until && is_proved(preamble, found->second.key)) {
      try {
        connection.stream.prove(found->second.key, found->second.cipher);
      } catch (const std::bad_alloc&) {  // its opener opens another one
        return Keep::no;
      }
      connection.peer = found->second.peer;
      connection.era = peers_[found->second.peer];
      proved_.push_back(found->second.peer);
      expected_.erase(found);
      return Keep::yes;
    }
  }
  refuse(fmt::format("closed a connection of {}: it is no stream that a peer opened", connection.from));
  return Keep::no;
}

/// REQUIRES: mutex_ is held, and the connection is proved.
bool StreamReceiver::is_current(const Connection& connection) const {
  const auto found = peers_.find(*connection.peer);
  return found != peers_.end() && found->second == connection.era;
}

// `remove` may be called at any moment, and waits for the one packet that is being delivered.
bool StreamReceiver::deliver(const Connection& from, Frames packet) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || !is_current(from)) return false;
    delivering_ = from.peer;
  }
  packets_.fetch_add(1, std::memory_order_relaxed);
  callbacks_.arrived(*from.peer, std::move(packet));
  {
    const std::lock_guard lock(mutex_);
    delivering_.reset();
  }
  delivered_.notify_all();
  return true;
}

void StreamReceiver::refuse(std::string line) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (callbacks_.refused) callbacks_.refused(line);
}

}  // namespace troupe::detail
