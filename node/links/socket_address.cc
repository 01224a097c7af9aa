#include "node/links/socket_address.h"

#include <netdb.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "node/file_descriptor.h"

namespace troupe {

std::optional<SocketAddress> unix_address(std::string_view path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof name.sun_path) return std::nullopt;
  std::ranges::copy(path, name.sun_path);
  if (path.front() == '@') name.sun_path[0] = '\0';  // the abstract namespace: its length counts, no terminator
  SocketAddress address;
  std::memcpy(&address.bytes, &name, sizeof name);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + (path.front() == '@' ? 0 : 1));
  return address;
}

std::optional<SocketAddress> host_address(std::string_view host_and_port, HostNames names) {
  const std::size_t colon = host_and_port.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string host(host_and_port.substr(0, colon));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICSERV | (names == HostNames::refuse ? AI_NUMERICHOST : 0);
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), std::string(host_and_port.substr(colon + 1)).c_str(), &hints, &first) != 0)
    return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  SocketAddress address;
  std::memcpy(&address.bytes, first->ai_addr, first->ai_addrlen);
  address.size = first->ai_addrlen;
  return address;
}

std::string host_and_port_of(const SocketAddress& address) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (address.family() != AF_INET && address.family() != AF_INET6) return {};
  if (::getnameinfo(address.get(), address.size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  const std::string name(host.data());
  return (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":" + port.data();
}

std::optional<bool> is_of_this_host(std::string_view address, HostNames names) {
  constexpr std::string_view kTcp = "tcp://";
  if (!address.starts_with(kTcp)) return true;
  const std::size_t colon = address.rfind(':');
  auto place = host_address(std::string(address.substr(kTcp.size(), colon - kTcp.size())) + ":0", names);
  if (!place) return std::nullopt;
  // The kernel lets a socket bind to the addresses of this machine only.
  const detail::FileDescriptor socket(::socket(place->family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return socket.is_open() && ::bind(socket.get(), place->get(), place->size) == 0;
}

}  // namespace troupe
