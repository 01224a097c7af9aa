#include "node/joining/join_endpoint.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <ranges>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "actors/core/guarded.h"
#include "node/keys/introduction.h"
#include "node/links/socket_address.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kStrangersMax = 64;
constexpr int kAcceptsPerTurn = 16;
constexpr int kBacklog = 1024;  // whom the system turns away comes again a second later
constexpr Duration kAcceptPause = std::chrono::milliseconds{100};

Error no_endpoint(ErrorCode code, const std::string& listen, std::string_view why) {
  return Error{.code = code,
               .message = fmt::format("newcomers cannot be heard at {}: {}", listen, why),
               .endpoint = listen,
               .operation = "join",
               .execution = Execution::never};
}

/// Returns where to bind; throws std::invalid_argument with its reason.
SocketAddress place_to_bind(const std::string& listen) {
  const std::optional<TcpPlace> place = TcpPlace::parse(listen);
  if (!place) throw std::invalid_argument("that is not tcp://HOST:PORT");
  const std::string host = place->host == "*" ? "0.0.0.0" : numbers_of(place->host);
  const auto address = host_address(fmt::format("{}:{}", host.find(':') == std::string::npos ? host : '[' + host + ']',
                                                place->port == "*" ? "0" : place->port));
  if (!address) throw std::invalid_argument("its host is no address of this machine");
  return *address;
}

}  // namespace

Result<std::unique_ptr<JoinEndpoint>> JoinEndpoint::open(Options options, KeyRing ring, Certify certify) try {
  using enum ErrorCode;
  const SocketAddress place = place_to_bind(options.listen);
  FileDescriptor listener(::socket(place.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!listener.is_open() || ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(listener.get(), place.get(), place.size) != 0 || ::listen(listener.get(), kBacklog) != 0) {
    return no_endpoint(resource_exhausted, options.listen, std::generic_category().message(errno));
  }
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) != 0)
    return no_endpoint(resource_exhausted, options.listen, std::generic_category().message(errno));
  std::unique_ptr<JoinEndpoint> opened(new JoinEndpoint(options, std::move(ring), std::move(certify),
                                                        std::move(listener), "tcp://" + host_and_port_of(bound)));
  opened->thread_ = std::thread([endpoint = opened.get()] { endpoint->run(); });
  return opened;
} catch (const std::invalid_argument& error) {
  return no_endpoint(ErrorCode::bad_argument, options.listen, error.what());
} catch (const std::system_error& error) {  // no thread, no descriptor
  return no_endpoint(ErrorCode::resource_exhausted, options.listen, error.what());
}

JoinEndpoint::JoinEndpoint(Options options, KeyRing ring, Certify certify, FileDescriptor listener, std::string address)
    : options_(std::move(options)),
      ring_(std::move(ring)),
      certify_(std::move(certify)),
      listener_(std::move(listener)),
      address_(std::move(address)) {}

JoinEndpoint::~JoinEndpoint() {
  stop();
  if (thread_.joinable()) thread_.join();
}

void JoinEndpoint::run() {
  try {
    while (!stopped_) poll_once();
  } catch (...) {  // the node itself goes on
    const Error why = failure_of_current_exception("the join endpoint");
    spdlog::error("[{}] {}: newcomers are not heard any more", ring_.own_name(), why.text());
  }
  listener_.close();  // who comes now is told at once that nobody listens
  reading_.clear();
  complete_.clear();
}

void JoinEndpoint::stop() {
  stopped_ = true;
  wake_up_.ring();
}

void JoinEndpoint::poll_once() {
  const TimePoint now = std::chrono::steady_clock::now();
  const auto is_late = [now](const Connection& each) { return now >= each.until; };
  for (std::list<Connection>* all : {&reading_, &complete_}) {
    while (!all->empty() && is_late(all->front())) {
      refuse(all->front(), "its request did not come, or not its turn");
      all->pop_front();
    }
  }
  if (accept_again_ && now >= *accept_again_) accept_again_.reset();
  std::optional<TimePoint> due = accept_again_;
  const auto no_later_than = [&due](TimePoint time) { due = due ? std::min(*due, time) : time; };
  if (!reading_.empty()) no_later_than(reading_.front().until);
  if (!complete_.empty()) no_later_than(std::min(next_turn_, complete_.front().until));
  std::vector<pollfd> descriptors{{.fd = wake_up_.descriptor(), .events = POLLIN, .revents = 0},
                                  {.fd = accept_again_ ? -1 : listener_.get(), .events = POLLIN, .revents = 0}};
  for (const Connection& each : reading_)
    descriptors.push_back({.fd = each.socket.get(), .events = POLLIN, .revents = 0});
  int timeout = -1;
  if (due) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*due - now);
    timeout = static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }
  (void)::poll(descriptors.data(), descriptors.size(), timeout);
  auto descriptor = descriptors.begin() + 2;
  for (auto next = reading_.begin(); next != reading_.end();) {
    const auto connection = next++;
    if ((descriptor++)->revents == 0) continue;
    switch (read(*connection)) {
      case Reading::goes_on: break;
      case Reading::complete: complete_.splice(complete_.end(), reading_, connection); break;
      case Reading::wrong: refuse(*connection, "it sent no valid introduction"); reading_.erase(connection);
    }
  }
  if (descriptors[1].revents != 0) accept_some(std::chrono::steady_clock::now());
  answer_next(std::chrono::steady_clock::now());
}

void JoinEndpoint::accept_some(TimePoint now) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    SocketAddress from;
    from.size = sizeof from.bytes;
    FileDescriptor socket(
        ::accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from.bytes), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.is_open()) {
      const bool exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (exhausted) accept_again_ = now + kAcceptPause;  // the connection waits, and poll would tell of it at once
      return;
    }
    if (reading_.size() + complete_.size() >= kStrangersMax) make_room();
    reading_.push_back({std::move(socket), host_and_port_of(from), now + options_.patience, {}});
  }
}

/// Ends the oldest connection of those hosts that have most of them: who comes from elsewhere has its turn.
void JoinEndpoint::make_room() {
  const auto host_of = [](const Connection& each) {
    return std::string_view(each.from).substr(0, each.from.rfind(':'));
  };
  std::map<std::string_view, std::size_t> counts;
  for (const std::list<Connection>* all : {&reading_, &complete_}) {
    for (const Connection& each : *all) ++counts[host_of(each)];
  }
  const auto most = std::ranges::max(counts | std::views::values);
  std::list<Connection>* of = nullptr;
  std::list<Connection>::iterator oldest;
  for (std::list<Connection>* all : {&reading_, &complete_}) {
    const auto first =
        std::ranges::find_if(*all, [&](const Connection& each) { return counts[host_of(each)] == most; });
    if (first == all->end() || (of != nullptr && oldest->until <= first->until)) continue;
    of = all;
    oldest = first;
  }
  refuse(*oldest, "too many connections wait for their turn");
  of->erase(oldest);
}

JoinEndpoint::Reading JoinEndpoint::read(Connection& connection) {
  std::vector<std::byte>& request = connection.request;
  while (true) {
    std::size_t wanted = kIntroductionHead;
    if (request.size() >= kIntroductionHead) {
      const auto rest = introduction_rest(std::span(request).first(kIntroductionHead));
      if (!rest) return Reading::wrong;
      wanted += *rest;
      if (request.size() == wanted) return Reading::complete;
    }
    const std::size_t before = request.size();
    request.resize(wanted);
    const ssize_t came = ::recv(connection.socket.get(), request.data() + before, wanted - before, 0);
    request.resize(before + static_cast<std::size_t>(std::max<ssize_t>(came, 0)));
    if (came > 0) continue;
    const bool is_later = came < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    return is_later ? Reading::goes_on : Reading::wrong;
  }
}

/// Opening a request costs a few hundred microseconds: strangers get no more of them than one for each interval.
void JoinEndpoint::answer_next(TimePoint now) {
  if (complete_.empty() || now < next_turn_) return;
  const Connection connection = std::move(complete_.front());
  complete_.pop_front();
  answer(connection);
  next_turn_ = std::chrono::steady_clock::now() + options_.interval;
}

void JoinEndpoint::answer(const Connection& connection) {
  const KeyPair own = ring_.own_keys();
  const auto introduction = Introduction::open(connection.request, own);
  if (!introduction) {
    refuse(connection, "its introduction is not sealed for the key of this node");
    return say(connection, not_for_this_member());
  }
  const auto certified = certify_(introduction->certificate, connection.from);
  IntroductionAnswer answer;
  if (!certified.ok()) {
    answer = {certified.error().code, certified.error().message};
    refuse(connection, answer.text);
  } else if (certified.value().key != introduction->key) {
    answer = {ErrorCode::bad_argument, "the certificate is of another key"};
    refuse(connection, answer.text);
  }
  const auto sealed = answer.sealed(connection.request, own, introduction->key);
  if (sealed) say(connection, *sealed);
}

/// There is room for it: nothing else was sent on this connection.
void JoinEndpoint::say(const Connection& connection, std::span<const std::byte> answer) {
  (void)::send(connection.socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
}

void JoinEndpoint::refuse(const Connection& connection, std::string_view why) {
  ++refused_;
  if (!options_.log || !lines_.take(std::chrono::steady_clock::now())) return;
  options_.log(fmt::format("a newcomer at {} was not let in: {}", connection.from, why));
}

}  // namespace troupe::detail
