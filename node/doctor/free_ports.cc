#include "node/doctor/free_ports.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include "node/file_descriptor.h"

namespace troupe::detail {
namespace {

bool is_free(const SocketAddress& address, int type) {
  const FileDescriptor attempt(socket(address.family(), type | SOCK_CLOEXEC, 0));
  if (!attempt.is_open()) throw std::system_error(errno, std::generic_category());  // this says nothing about the port
  const int on = 1;
  // As nodes do: a port that was used until a minute ago is free. One at which something listens is not.
  if (type == SOCK_STREAM) setsockopt(attempt.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bind(attempt.get(), address.get(), address.size) == 0;
}

}  // namespace

SocketAddress numeric_address(const std::string& host, int port) {
  const auto address = host_address(fmt::format("[{}]:{}", host, port));
  if (!address) throw std::invalid_argument(fmt::format("\"{}\" is not a numeric address", host));
  return *address;
}

PortCount count_free_ports(const std::string& host, const PortRange& range, PortKind kind) {
  PortCount count;
  const int last = std::min<int>(range.high, range.low + PortCount::kTriedMax - 1);
  for (int port = range.low; port <= last; ++port) {
    const SocketAddress address = numeric_address(host, port);
    ++count.tried;
    if (is_free(address, SOCK_STREAM) && (kind == PortKind::tcp || is_free(address, SOCK_DGRAM))) ++count.free;
  }
  return count;
}

}  // namespace troupe::detail
