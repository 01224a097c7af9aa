#include "node/control/control_listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <utility>

namespace troupe::detail {
namespace {

bool must_wait() { return errno == EAGAIN || errno == EINTR; }

/// Returns whether the client is gone. One that only writes no more may still wait for its answer.
bool has_hung_up(const FileDescriptor& socket) {
  pollfd one{socket.get(), 0, 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

void ControlListener::add_polled(std::vector<pollfd>& polled) const {
  if (connections_.size() < kConnectionsMax && !paused_until_) polled.push_back({listening_.get(), POLLIN, 0});
  for (const Connection& connection : connections_) {
    polled.push_back({connection.socket.get(), events_of(connection), 0});
  }
}

void ControlListener::work(Time now) {
  if (paused_until_ && *paused_until_ <= now) paused_until_.reset();
  if (!paused_until_) accept_some(now);
  std::erase_if(connections_, [&](Connection& connection) {
    if (connection.due <= now) return true;
    if (!connection.asked && read(connection) == Outcome::over) return true;
    return connection.answer ? write(connection) == Outcome::over
                             : connection.asked && has_hung_up(connection.socket);  // poll(2) would tell of it at once
  });
}

void ControlListener::take_answer(std::uint64_t id, std::string text) {
  for (Connection& connection : connections_) {
    if (connection.id == id) connection.answer = std::move(text);
  }
}

std::optional<ControlListener::Time> ControlListener::next_due() const {
  if (connections_.empty()) return paused_until_;
  const Time first = connections_.front().due;  // all have the same time limit
  return paused_until_ ? std::min(first, *paused_until_) : first;
}

void ControlListener::close() {
  listening_.close();
  connections_.clear();
}

void ControlListener::accept_some(Time now) {
  for (int i = 0; i < kAcceptsPerTurn && connections_.size() < kConnectionsMax; ++i) {
    FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (!must_wait() && errno != ECONNABORTED) paused_until_ = now + kPause;  // else poll(2) returns at once
      return;
    }
    if (may_ask(peer_of(socket).user, geteuid()))
      connections_.push_back({std::move(socket), now + kConnectionMax, ++ids_});
  }
}

ControlListener::Outcome ControlListener::read(Connection& connection) {
  std::array<char, kQuestionMax + 1> buffer{};
  const ssize_t size = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
  if (size < 0 && must_wait()) return Outcome::open;
  if (size <= 0) return Outcome::over;
  connection.question.append(buffer.data(), static_cast<std::size_t>(size));
  const std::size_t end = connection.question.find('\n');
  if (std::min(end, connection.question.size()) > kQuestionMax) return Outcome::over;
  if (end == std::string::npos) return Outcome::open;
  connection.asked = true;
  try {
    connection.answer = answer_(std::string_view(connection.question).substr(0, end), connection.id);
  } catch (const std::bad_alloc&) {
    return Outcome::over;
  }
  return Outcome::open;
}

short ControlListener::events_of(const Connection& connection) {
  if (!connection.asked) return POLLIN;
  return connection.answer ? POLLOUT : 0;  // an end of the connection is reported in any case
}

ControlListener::Outcome ControlListener::write(Connection& connection) {
  std::string& rest = *connection.answer;
  while (!rest.empty()) {
    const ssize_t size = send(connection.socket.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (size < 0) return must_wait() ? Outcome::open : Outcome::over;
    rest.erase(0, static_cast<std::size_t>(size));
  }
  return Outcome::over;
}

}  // namespace troupe::detail
