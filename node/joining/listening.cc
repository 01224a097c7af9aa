#include "node/joining/listening.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <string_view>

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

}  // namespace

bool may_listen(const std::string& address, Duration patience) {
  const auto target = parse(address);
  if (!target) return true;
  const detail::FileDescriptor socket(::socket(target->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return true;  // unknown
  if (::connect(socket.get(), target->get(), target->size) == 0) return true;
  if (errno == EAGAIN) return true;  // a unix socket with a full queue
  if (errno != EINPROGRESS) return false;
  pollfd polled{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  if (::poll(&polled, 1, static_cast<int>(ms)) <= 0) return false;
  int failure = 0;
  socklen_t size = sizeof failure;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

}  // namespace troupe
