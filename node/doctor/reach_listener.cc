#include "node/doctor/reach_listener.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "node/doctor/free_ports.h"
#include "node/launch/reserved_port.h"

namespace troupe::detail {
namespace {

constexpr int kWaitingMax = 256;
constexpr int kAnsweredPerTurn = 256;

std::string address_of(const ListenOrder& order, const Variables& variables, const NameLookup& look_up) {
  constexpr std::string_view kSetting = "host.address";
  if (!order.first.empty()) return node_address(order.address, order.first, order.network, kSetting, look_up);
  return seed_address({order.address, order.toward, order.network, variables, kSetting, look_up});
}

/// Makes a reserved port listen.
FileDescriptor listening_at(ReservedPort port) {
  const int descriptor = port.reservation.get();
  if (listen(descriptor, kWaitingMax) != 0) throw std::system_error(errno, std::generic_category());
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return std::move(port.reservation);
}

FileDescriptor datagrams_at(const std::string& host, int port) {
  const SocketAddress address = numeric_address(host, port);
  FileDescriptor socket(::socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (bind(socket.get(), address.get(), address.size) != 0) socket.close();
  return socket;
}

}  // namespace

ReachListener::ReachListener(const ListenOrder& order, const Variables& variables, const NameLookup& look_up)
    : token_(order.token) {
  listening_.address = address_of(order, variables, look_up);
  const auto ports = PortRange::parse(order.ports);
  const auto stream_ports = PortRange::parse(order.stream_ports);
  if (ports) listening_.ports = count_free_ports(listening_.address, *ports, PortKind::tcp_and_udp);
  if (stream_ports) listening_.stream_ports = count_free_ports(listening_.address, *stream_ports, PortKind::tcp);
  ReservedPort port = reserve_port(listening_.address, order.port, ports);
  listening_.port = static_cast<std::uint16_t>(std::stoi(port.number));
  tcp_ = listening_at(std::move(port));
  udp_ = datagrams_at(listening_.address, listening_.port);
  listening_.udp = udp_.is_open();
  if (listening_.stream_ports.free == 0) return;
  ReservedPort stream = reserve_port(listening_.address, 0, stream_ports);
  listening_.stream_port = static_cast<std::uint16_t>(std::stoi(stream.number));
  stream_ = listening_at(std::move(stream));
}

void ReachListener::add_polled(std::vector<pollfd>& polled) const {
  for (const FileDescriptor* each : {&tcp_, &udp_, &stream_}) {
    if (each->is_open()) polled.push_back({each->get(), POLLIN, 0});
  }
}

void ReachListener::work() const {
  welcome(tcp_);
  welcome(stream_);
  echo();
}

void ReachListener::welcome(const FileDescriptor& listener) const {
  for (int i = 0; listener.is_open() && i < kAnsweredPerTurn; ++i) {
    const FileDescriptor visitor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!visitor.is_open()) return;
    // So few bytes always fit into the buffer of a new connection.
    (void)::send(visitor.get(), token_.data(), token_.size(), MSG_NOSIGNAL);
  }
}

void ReachListener::echo() const {
  const std::string_view question = std::string_view(token_).substr(0, kTokenSize / 2);
  const std::string_view answer = std::string_view(token_).substr(kTokenSize / 2);
  for (int i = 0; udp_.is_open() && i < kAnsweredPerTurn; ++i) {
    std::array<char, kTokenSize> buffer{};
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    auto* const visitor = reinterpret_cast<sockaddr*>(&from);
    const ssize_t got = recvfrom(udp_.get(), buffer.data(), buffer.size(), 0, visitor, &size);
    if (got < 0 && errno == EAGAIN) return;
    if (got < 0 || std::string_view(buffer.data(), static_cast<std::size_t>(got)) != question) continue;
    (void)::sendto(udp_.get(), answer.data(), answer.size(), MSG_NOSIGNAL, visitor, size);
  }
}

}  // namespace troupe::detail
