#include "node/listening.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "node/file_descriptor.h"

namespace troupe {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kIpc = "ipc://";

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

std::optional<SocketAddress> unix_address(std::string_view path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path) return std::nullopt;
  std::ranges::copy(path, name.sun_path);
  if (path.front() == '@') name.sun_path[0] = '\0';  // the abstract namespace: as long as it is, without an end mark
  SocketAddress address;
  std::memcpy(&address.bytes, &name, sizeof name);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (path.front() == '@' ? 0 : 1));
  return address;
}

std::optional<SocketAddress> tcp_address(std::string_view host_and_port) {
  const std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string host(host_and_port.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), std::string(host_and_port.substr(colon + 1)).c_str(), &hints, &first) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.bytes, first->ai_addr, first->ai_addrlen);
  address.size = first->ai_addrlen;
  return address;
}

std::optional<SocketAddress> parse(std::string_view address) {
  if (address.starts_with(kTcp)) return tcp_address(address.substr(kTcp.size()));
  if (address.starts_with(kIpc)) return unix_address(address.substr(kIpc.size()));
  return std::nullopt;
}

}  // namespace

bool may_listen(const std::string& address, Duration patience) {
  const auto target = parse(address);
  if (!target) return true;
  const detail::FileDescriptor socket(
      ::socket(target->bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return true;  // we cannot tell
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&target->bytes), target->size) == 0) return true;
  if (errno == EAGAIN) return true;  // a unix socket with many who wait
  if (errno != EINPROGRESS) return false;
  pollfd polled{.fd = socket.get(), .events = POLLOUT, .revents = 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  if (::poll(&polled, 1, static_cast<int>(ms)) <= 0) return false;
  int failure = 0;
  socklen_t size = sizeof failure;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
}

}  // namespace troupe
