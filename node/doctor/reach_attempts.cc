#include "node/doctor/reach_attempts.h"

#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "node/doctor/free_ports.h"
#include "node/links/socket_address.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

constexpr std::chrono::milliseconds kAskEvery{200};

/// Returns the numeric address of a socket's own side, without its port.
std::string own_address_of(const FileDescriptor& socket) {
  SocketAddress address;
  address.size = sizeof address.bytes;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address.bytes), &address.size) != 0) return {};
  const auto place = TcpPlace::parse("tcp://" + host_and_port_of(address));
  return place ? place->host : "";
}

ReachOutcome outcome_of(int failure) {
  switch (failure) {
    case ETIMEDOUT: return ReachOutcome::timed_out;
    case ECONNREFUSED: return ReachOutcome::refused;
    case EHOSTUNREACH:
    case ENETUNREACH: return ReachOutcome::no_route;
    default: return ReachOutcome::failed;
  }
}

}  // namespace

ReachAttempts::ReachAttempts(const ReachOrder& order, Time now)
    : begin_(now), due_(now + std::chrono::milliseconds(order.patience_ms)), ask_again_(now + kAskEvery) {
  reached_.ways.resize(order.places.size());
  for (std::size_t i = 0; i < order.places.size(); ++i) {
    const ReachPlace& place = order.places[i];
    begin(i, Way::tcp, place);
    if (place.udp) begin(i, Way::udp, place);
    if (place.stream_port != 0) begin(i, Way::stream, place);
  }
  std::erase_if(running_, [](const Attempt& attempt) { return attempt.over; });
}

void ReachAttempts::begin(std::size_t place, Way way, const ReachPlace& where) {
  Attempt attempt{.place = place, .way = way, .socket = {}, .token = where.token, .got = {}};
  try {
    const auto address = numeric_address(where.address, way == Way::stream ? where.stream_port : where.port);
    const int type = way == Way::udp ? SOCK_DGRAM : SOCK_STREAM;
    attempt.socket = FileDescriptor(::socket(address.family(), type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const bool begun = attempt.socket.is_open() &&
                       (connect(attempt.socket.get(), address.get(), address.size) == 0 || errno == EINPROGRESS);
    if (!begun) fail(attempt, errno);
    else if (way == Way::tcp) reached_.ways[place].from = own_address_of(attempt.socket);
  } catch (const std::invalid_argument& error) {
    end(attempt, {ReachOutcome::failed, error.what(), 0});
  }
  if (!attempt.over && way == Way::udp) ask(attempt);
  running_.push_back(std::move(attempt));
}

void ReachAttempts::ask(Attempt& attempt) {
  const ssize_t sent = ::send(attempt.socket.get(), attempt.token.data(), kTokenSize / 2, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) fail(attempt, errno);
}

void ReachAttempts::add_polled(std::vector<pollfd>& polled) const {
  // A connection that fails is readable, too.
  for (const Attempt& attempt : running_) polled.push_back({attempt.socket.get(), POLLIN, 0});
}

void ReachAttempts::work(std::span<const pollfd> polled, Time now) {
  for (std::size_t i = 0; i < polled.size() && i < running_.size(); ++i) {
    if (polled[i].revents != 0) read(running_[i], now);
  }
  if (now >= ask_again_) {
    ask_again_ = now + kAskEvery;
    for (Attempt& attempt : running_) {
      if (!attempt.over && attempt.way == Way::udp) ask(attempt);
    }
  }
  for (Attempt& attempt : running_) {
    if (!attempt.over && now >= due_) end(attempt, {ReachOutcome::timed_out, {}, 0});
  }
  std::erase_if(running_, [](const Attempt& attempt) { return attempt.over; });
}

ReachAttempts::Time ReachAttempts::next_due() const {
  const bool asks = std::ranges::any_of(running_, [](const Attempt& attempt) { return attempt.way == Way::udp; });
  return asks ? std::min(due_, ask_again_) : due_;
}

void ReachAttempts::read(Attempt& attempt, Time now) {
  std::array<char, kTokenSize + 1> buffer{};
  const ssize_t size = ::recv(attempt.socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0) {
    if (errno != EAGAIN && errno != EINTR) fail(attempt, errno);
    return;
  }
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
  const bool is_datagram = attempt.way == Way::udp;
  const std::string_view wanted = std::string_view(attempt.token).substr(is_datagram ? kTokenSize / 2 : 0);
  if (is_datagram) attempt.got = bytes;
  else attempt.got.append(bytes);
  if (attempt.got == wanted) {
    const auto time = std::chrono::duration_cast<std::chrono::microseconds>(now - begin_).count();
    end(attempt, {ReachOutcome::reached, {}, static_cast<std::uint64_t>(std::max<std::int64_t>(time, 0))});
  } else if (is_datagram || size == 0 || !wanted.starts_with(attempt.got)) {
    end(attempt, {ReachOutcome::stranger, {}, 0});
  }
}

void ReachAttempts::end(Attempt& attempt, ReachEnd end) {
  attempt.over = true;
  HostWay& way = reached_.ways[attempt.place];
  ReachEnd& ended = attempt.way == Way::tcp ? way.tcp : attempt.way == Way::udp ? way.udp : way.stream;
  ended = std::move(end);
}

void ReachAttempts::fail(Attempt& attempt, int failure) { end(attempt, {outcome_of(failure), strerror(failure), 0}); }

}  // namespace troupe::detail
