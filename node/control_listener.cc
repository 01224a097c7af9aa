#include "node/control_listener.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace troupe::detail {
namespace {

bool must_wait() { return errno == EAGAIN || errno == EINTR; }

}  // namespace

void ControlListener::add_polled(std::vector<pollfd>& polled) const {
  if (connections_.size() < kConnectionsMax) polled.push_back({listening_.get(), POLLIN, 0});
  for (const Connection& connection : connections_) {
    polled.push_back({connection.socket.get(), static_cast<short>(connection.answer ? POLLOUT : POLLIN), 0});
  }
}

void ControlListener::work(Time now) {
  accept_all(now);
  std::erase_if(connections_, [&](Connection& connection) {
    if (connection.due <= now) return true;
    if (!connection.answer && read(connection) == Outcome::over) return true;
    return connection.answer && write(connection) == Outcome::over;
  });
}

std::optional<ControlListener::Time> ControlListener::next_due() const {
  if (connections_.empty()) return std::nullopt;
  return connections_.front().due;  // they all get the same time
}

void ControlListener::accept_all(Time now) {
  while (connections_.size() < kConnectionsMax) {
    FileDescriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (may_ask(peer_of(socket).user, geteuid())) connections_.push_back({std::move(socket), now + kConnectionMax});
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
  connection.answer = answer_(std::string_view(connection.question).substr(0, end));
  return Outcome::open;
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
