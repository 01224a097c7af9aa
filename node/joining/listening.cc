#include "node/joining/listening.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "node/file_descriptor.h"
#include "node/links/socket_address.h"

namespace troupe {
namespace {

constexpr std::string_view kTcpPrefix = "tcp://";
constexpr std::string_view kIpc = "ipc://";

std::optional<SocketAddress> parse(std::string_view address) {
  if (address.starts_with(kTcpPrefix)) return host_address(address.substr(kTcpPrefix.size()));
  if (address.starts_with(kIpc)) return unix_address(address.substr(kIpc.size()));
  return std::nullopt;
}

constexpr std::size_t kConnectionsAtOnce = 256;

/// A connection that is being made.
struct BegunConnection {
  std::size_t index = 0;  ///< of its address
  detail::FileDescriptor socket;
};

enum class Begun : std::uint8_t { listens, refused, pending, no_descriptor };

Begun begin_connecting(const std::string& address, detail::FileDescriptor& socket) {
  const auto target = parse(address);
  if (!target) return Begun::listens;
  socket = detail::FileDescriptor(::socket(target->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return Begun::no_descriptor;
  if (::connect(socket.get(), target->get(), target->size) == 0) return Begun::listens;
  if (errno == EAGAIN) return Begun::listens;  // a unix socket with a full queue
  return errno == EINPROGRESS ? Begun::pending : Begun::refused;
}

bool is_connected(const detail::FileDescriptor& socket) {
  int failure = 0;
  socklen_t size = sizeof failure;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

/// Waits until `until` for attempts, writes their answers, and takes them out of `pending`.
void finish_connecting(std::vector<BegunConnection>& pending, std::vector<bool>& answers, TimePoint until) {
  while (!pending.empty()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    std::vector<pollfd> polled;
    for (const BegunConnection& each : pending)
      polled.push_back({.fd = each.socket.get(), .events = POLLOUT, .revents = 0});
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(left, 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    std::vector<BegunConnection> rest;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      if (polled[i].revents == 0) {
        rest.push_back(std::move(pending[i]));
      } else {
        answers[pending[i].index] = is_connected(pending[i].socket);
      }
    }
    pending = std::move(rest);
  }
}

}  // namespace

bool may_listen(const std::string& address, Duration patience) {
  return may_listen(std::vector{address}, patience, std::nullopt).front();
}

std::vector<bool> may_listen(const std::vector<std::string>& addresses, Duration patience,
                             std::optional<TimePoint> due) {
  std::vector<bool> answers(addresses.size(), true);
  for (std::size_t next = 0; next < addresses.size() && (!due || std::chrono::steady_clock::now() < *due);) {
    std::vector<BegunConnection> pending;
    while (next < addresses.size() && pending.size() < kConnectionsAtOnce) {
      detail::FileDescriptor socket;
      const Begun begun = begin_connecting(addresses[next], socket);
      if (begun == Begun::no_descriptor && !pending.empty()) break;  // those under way give theirs back
      if (begun == Begun::pending) pending.push_back({next, std::move(socket)});
      if (begun == Begun::refused) answers[next] = false;
      ++next;
    }
    const TimePoint patient = std::chrono::steady_clock::now() + patience;
    finish_connecting(pending, answers, due ? std::min(patient, *due) : patient);
    const bool is_answer = !due || patient <= *due;  // that nothing came
    for (const BegunConnection& silent : pending) answers[silent.index] = !is_answer;
  }
  return answers;
}

}  // namespace troupe
