#include "node/links/zmq_link_socket.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <zmq.hpp>

#include "node/file_descriptor.h"
#include "node/unmapped_user.h"

namespace troupe {
namespace {

constexpr int kLingerMs = 200;
constexpr int kReconnectMs = 20;
constexpr int kReconnectMaxMs = 200;
constexpr int kBacklog = 256;
// Firewalls between hosts forget connections that are idle for some minutes, and a host that lost its power says
// nothing.
constexpr int kKeepAliveIdle = 60;  // s, as the next
constexpr int kKeepAliveGap = 10;
constexpr int kKeepAliveCount = 6;
constexpr std::size_t kCopyMax = 256;  // below, a copy is cheaper than the bookkeeping of a shared owner
constexpr int kBrokenOff = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL;
constexpr int kWatchedEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_CLOSED |
                               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | kBrokenOff;
constexpr const char* kZapDomain = "troupe";  // one context has one handler: its name only must not be empty
constexpr int kZapEnforceDomain = 93;         // ZMQ_ZAP_ENFORCE_DOMAIN, which the header has for draft builds only

int to_ms(Duration duration) {
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<decltype(ms)>(ms, -1, std::numeric_limits<int>::max()));
}

void release(void* /*data*/, void* hint) { delete static_cast<std::shared_ptr<const void>*>(hint); }

zmq::message_t to_message(const Frame& frame) {
  if (frame.bytes.size() <= kCopyMax) return {frame.bytes.data(), frame.bytes.size()};
  auto owner = std::make_unique<std::shared_ptr<const void>>(frame.owner);
  // ZeroMQ only reads what it sends; its C interface has no const.
  zmq::message_t message(const_cast<std::byte*>(frame.bytes.data()), frame.bytes.size(), release, owner.get());
  (void)owner.release();  // now `release` deletes it, on ZeroMQ's thread
  return message;
}

/// Returns nothing if there is no memory for all of them.
std::vector<zmq::message_t> to_messages(const Frames& frames) {
  try {
    std::vector<zmq::message_t> messages;
    messages.reserve(frames.size());
    for (const Frame& frame : frames) messages.push_back(to_message(frame));
    return messages;
  } catch (const std::bad_alloc&) {
    return {};
  } catch (const zmq::error_t&) {  // ENOMEM
    return {};
  }
}

Frame to_frame(zmq::message_t&& message) {
  auto owner = std::make_shared<zmq::message_t>(std::move(message));
  const std::span<const std::byte> bytes{owner->data<std::byte>(), owner->size()};
  return Frame{.bytes = bytes, .owner = std::move(owner)};
}

zmq::const_buffer buffer_of(std::span<const std::byte> bytes) { return {bytes.data(), bytes.size()}; }

/// The user of a message, as the ZAP handler named it.
std::string user_of(const zmq::message_t& message) {
  const char* user = zmq_msg_gets(message.handle(), "User-Id");
  return user == nullptr ? std::string{} : std::string(user);
}

/// Enables IPv6 for IPv6 addresses only: otherwise a host name would resolve to its IPv6 address first.
void allow_ipv6(zmq::socket_t& socket, const std::string& address) {
  if (address.starts_with("tcp://[")) socket.set(zmq::sockopt::ipv6, true);
}

Error failure(ErrorCode code, const std::string& address, const zmq::error_t& cause) {
  return Error{
      .code = code,
      .message = fmt::format("{}: {}", address, cause.what()),
      .endpoint = address,
      .execution = Execution::never,
      .hint = cause.num() == EMFILE ? "the limit of open files (ulimit -Hn) is too low for so many peers" : ""};
}

}  // namespace

struct ZmqContext::Impl {
  /// ZeroMQ's default limit is 1,023 sockets, and a peer takes up to three: only descriptors remain as the limit.
  Impl() { context.set(zmq::ctxopt::max_sockets, context.get(zmq::ctxopt::socket_limit)); }

  zmq::context_t context{1};
  std::atomic<std::uint64_t> monitors = 0;  // names of monitor endpoints must differ
};

ZmqContext::ZmqContext() : impl_(std::make_unique<Impl>()) {}
ZmqContext::~ZmqContext() = default;

struct ZmqSocket::Impl {
  Impl(ZmqContext::Impl& of, Kind kind, std::size_t frames_limit)
      : context(of),
        socket(of.context, kind == Kind::router ? zmq::socket_type::router : zmq::socket_type::dealer),
        frames_max(frames_limit) {}

  ~Impl() {
    if (ready) {  // ZeroMQ keeps the descriptors open for a while
      ready->remove(socket.get(zmq::sockopt::fd));
      if (monitor) ready->remove(monitor->get(zmq::sockopt::fd));
    }
    // The monitor is closed before its reader: otherwise ZeroMQ waits for ever for the reader.
    if (monitor) zmq_socket_monitor(socket.handle(), nullptr, 0);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  /// Returns the reader of events that do not end with this call. Throws zmq::error_t.
  [[nodiscard]] zmq::socket_t monitor_of(int events) {
    const std::string endpoint = fmt::format("inproc://monitor-{}", ++context.monitors);
    if (zmq_socket_monitor(socket.handle(), endpoint.c_str(), events) != 0) throw zmq::error_t();
    zmq::socket_t reader(context.context, zmq::socket_type::pair);
    reader.set(zmq::sockopt::linger, 0);
    reader.connect(endpoint);
    return reader;
  }

  void watch() {
    monitor.emplace(monitor_of(kWatchedEvents));
    // ZeroMQ's descriptor reports only what arrives after a read that found nothing.
    static_cast<void>(monitor->get(zmq::sockopt::events));
  }

  /// Binds, and keeps a copy of the listening socket, which only a monitor names. Throws zmq::error_t.
  void bind_and_keep(const std::string& address) {
    zmq::socket_t reader = monitor_of(ZMQ_EVENT_LISTENING);
    const auto end = [](zmq::socket_t* watched) { zmq_socket_monitor(watched->handle(), nullptr, 0); };
    const std::unique_ptr<zmq::socket_t, decltype(end)> before_the_reader(&socket, end);
    socket.bind(address);
    zmq::message_t what;  // as in `events`
    std::array<std::byte, 6> bytes{};
    if (reader.recv(what, zmq::recv_flags::dontwait) && what.size() == bytes.size()) {
      std::memcpy(bytes.data(), what.data(), bytes.size());
      std::int32_t descriptor = -1;
      std::memcpy(&descriptor, bytes.data() + 2, sizeof descriptor);
      listening = detail::FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
    }
  }

  ZmqContext::Impl& context;
  zmq::socket_t socket;
  std::optional<zmq::socket_t> monitor;
  std::size_t frames_max;
  bool names_users = false;          ///< a server with keys
  std::string user;                  ///< of the last message
  std::string bound;                 ///< address of the last bind
  detail::FileDescriptor listening;  ///< there, of a server with keys: ZeroMQ has its own copy
  ReadySet* ready = nullptr;
};

Result<ZmqSocket> ZmqSocket::open(ZmqContext& context, Kind kind, const ZmqSocketLimits& limits) {
  try {
    auto impl = std::make_unique<Impl>(*context.impl_, kind, limits.frames_max);
    zmq::socket_t& socket = impl->socket;
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(limits.frame_bytes_max));
    socket.set(zmq::sockopt::rcvhwm, limits.queue_messages_max);
    socket.set(zmq::sockopt::sndhwm, limits.queue_messages_max);
    socket.set(zmq::sockopt::linger, kLingerMs);
    socket.set(zmq::sockopt::handshake_ivl, to_ms(limits.handshake_timeout));
    socket.set(zmq::sockopt::backlog, kBacklog);
    if (limits.silence_max > Duration{0}) socket.set(zmq::sockopt::tcp_maxrt, to_ms(limits.silence_max));
    socket.set(zmq::sockopt::tcp_keepalive, 1);
    socket.set(zmq::sockopt::tcp_keepalive_idle, kKeepAliveIdle);
    socket.set(zmq::sockopt::tcp_keepalive_intvl, kKeepAliveGap);
    socket.set(zmq::sockopt::tcp_keepalive_cnt, kKeepAliveCount);
    socket.set(zmq::sockopt::immediate, true);
    if (kind == Kind::router) {
      socket.set(zmq::sockopt::router_mandatory, true);
    } else {
      socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
      socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectMaxMs);
    }
    if (kind == Kind::watched_dealer) impl->watch();
    return ZmqSocket(std::move(impl));
  } catch (const zmq::error_t& cause) {
    return failure(ErrorCode::resource_exhausted, "socket", cause);
  }
}

ZmqSocket::ZmqSocket(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ZmqSocket::ZmqSocket(ZmqSocket&& other) noexcept = default;
ZmqSocket& ZmqSocket::operator=(ZmqSocket&& other) noexcept = default;
ZmqSocket::~ZmqSocket() = default;

Result<Unit> ZmqSocket::secure_as_server(const KeyPair& own) {
  try {
    impl_->socket.set(zmq::sockopt::curve_server, true);
    impl_->socket.set(zmq::sockopt::curve_secretkey, buffer_of(own.secret()));
    impl_->socket.set(zmq::sockopt::zap_domain, kZapDomain);
    // Without it ZeroMQ lets everybody in while there is no handler. Not every build has it: `user` is then empty.
    const int on = 1;
    static_cast<void>(zmq_setsockopt(impl_->socket.handle(), kZapEnforceDomain, &on, sizeof on));
    impl_->names_users = true;
    return Unit{};
  } catch (const zmq::error_t& cause) {
    return failure(ErrorCode::resource_exhausted, "CURVE", cause);
  }
}

Result<Unit> ZmqSocket::secure_as_client(const KeyPair& own, const PublicKey& server) {
  try {
    impl_->socket.set(zmq::sockopt::curve_serverkey, buffer_of(server.bytes));
    impl_->socket.set(zmq::sockopt::curve_publickey, buffer_of(own.public_key().bytes));
    impl_->socket.set(zmq::sockopt::curve_secretkey, buffer_of(own.secret()));
    return Unit{};
  } catch (const zmq::error_t& cause) {
    return failure(ErrorCode::resource_exhausted, "CURVE", cause);
  }
}

Result<Unit> ZmqSocket::admit_own_user_only() {
  const uid_t own = ::geteuid();
  if (detail::may_be_several(own)) {
    return Error{.code = ErrorCode::not_authorized,
                 .message = "unix sockets cannot be kept from other users: this process is user " +
                            std::to_string(own) + ", as whom its user namespace shows all users that it does not map",
                 .operation = "listen",
                 .execution = Execution::never,
                 .hint = "run it as a user that the namespace maps, or over tcp with keys"};
  }
  if (zmq_setsockopt(impl_->socket.handle(), ZMQ_IPC_FILTER_UID, &own, sizeof own) == 0) return Unit{};
  return failure(ErrorCode::resource_exhausted, "users of unix sockets", zmq::error_t());
}

Result<std::string> ZmqSocket::bind(const std::string& address) {
  try {
    allow_ipv6(impl_->socket, address);
    if (impl_->names_users) {
      impl_->bind_and_keep(address);
    } else {
      impl_->socket.bind(address);
    }
    impl_->bound = impl_->socket.get(zmq::sockopt::last_endpoint);
    return impl_->bound;
  } catch (const zmq::error_t& cause) {
    const bool used = cause.num() == EADDRINUSE || cause.num() == EMFILE || cause.num() == ENFILE;
    return failure(used ? ErrorCode::resource_exhausted : ErrorCode::bad_argument, "cannot listen at " + address,
                   cause);
  }
}

// A port that nobody listens at for a moment looks like the end of this process. So the listening socket stays open
// between the listener with the former pair, which ends later on ZeroMQ's thread, and the one with the new pair.
Result<Unit> ZmqSocket::listen_with(const KeyPair& own) {
  if (const auto secured = secure_as_server(own); !secured) return secured.error();
  const int again = ::fcntl(impl_->listening.get(), F_DUPFD_CLOEXEC, 0);  // ZeroMQ closes it
  try {
    if (again < 0) throw zmq::error_t();
    static_cast<void>(zmq_unbind(impl_->socket.handle(), impl_->bound.c_str()));
    impl_->socket.set(zmq::sockopt::use_fd, again);
    impl_->socket.bind(impl_->bound);
    return Unit{};
  } catch (const zmq::error_t& cause) {
    return failure(ErrorCode::resource_exhausted, "cannot listen anew at " + impl_->bound, cause);
  }
}

Result<Unit> ZmqSocket::connect(const std::string& address) {
  try {
    allow_ipv6(impl_->socket, address);
    impl_->socket.connect(address);
    return Unit{};
  } catch (const zmq::error_t& cause) {
    return failure(ErrorCode::bad_argument, "cannot connect to " + address, cause);
  }
}

bool ZmqSocket::send(const Frames& frames) {
  // Before the first is sent: of a message that has begun the other frames must follow.
  std::vector<zmq::message_t> messages = to_messages(frames);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool more = i + 1 < messages.size();
    try {
      const auto flags = zmq::send_flags::dontwait | (more ? zmq::send_flags::sndmore : zmq::send_flags::none);
      // A refusal after the first frame means that the connection just ended: the other frames must still be sent, and
      // are dropped like the first.
      if (!impl_->socket.send(messages[i], flags) && i == 0) return false;
    } catch (const zmq::error_t& cause) {
      if (cause.num() == EINTR) {
        --i;
        continue;
      }
      return true;  // EHOSTUNREACH: the connection to answer on is closed
    }
  }
  return true;
}

std::optional<Frames> ZmqSocket::receive() {
  Frames frames;
  bool overflow = false;
  while (true) {
    zmq::message_t message;
    try {
      if (!impl_->socket.recv(message, zmq::recv_flags::dontwait)) return std::nullopt;
    } catch (const zmq::error_t& cause) {
      if (cause.num() == EINTR) continue;
      throw;
    }
    const bool more = message.more();
    if (impl_->names_users && !more) impl_->user = user_of(message);
    overflow = overflow || frames.size() >= impl_->frames_max;
    if (overflow) {
      frames.clear();
    } else {
      frames.push_back(to_frame(std::move(message)));
    }
    if (!more) return frames;
  }
}

const std::string& ZmqSocket::user() const { return impl_->user; }

bool ZmqSocket::has_news(bool to_send) {
  const int events = impl_->socket.get(zmq::sockopt::events);
  return (events & ZMQ_POLLIN) != 0 || (to_send && (events & ZMQ_POLLOUT) != 0);
}

std::vector<ZmqSocket::Event> ZmqSocket::events() {
  std::vector<Event> events;
  if (!impl_->monitor) return events;
  while (true) {
    // Two frames: event number (2 bytes) and value (4 bytes) in the machine's byte order, then the address.
    zmq::message_t what;
    zmq::message_t address;
    if (!impl_->monitor->recv(what, zmq::recv_flags::dontwait)) return events;
    (void)impl_->monitor->recv(address, zmq::recv_flags::dontwait);
    std::uint16_t number = 0;
    if (what.size() < sizeof number) continue;
    std::memcpy(&number, what.data(), sizeof number);
    if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) events.push_back(Event::connected);
    if (number == ZMQ_EVENT_DISCONNECTED) events.push_back(Event::disconnected);
    if (number == ZMQ_EVENT_CLOSED) events.push_back(Event::refused);
    if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) events.push_back(Event::denied);
    if ((number & kBrokenOff) != 0) events.push_back(Event::broken_off);
  }
}

Result<Unit> ZmqSocket::tell(ReadySet& ready, ReadySet::Key key) {
  Result<Unit> added = ready.add(impl_->socket.get(zmq::sockopt::fd), key);
  if (added && impl_->monitor) added = ready.add(impl_->monitor->get(zmq::sockopt::fd), key);
  impl_->ready = &ready;
  return added;
}

}  // namespace troupe
