#include "tests/chaos/byte_proxy.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kPieceBytes = 16 << 10;
constexpr std::uint64_t kEndless = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

detail::FileDescriptor open_socket() {
  detail::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail("socket");
  return socket;
}

/// Binds to a free port. Another socket may bind to it too, as long as this one does not listen.
std::uint16_t bind_anywhere(int socket) {
  const int on = 1;
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  if (::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
      ::bind(socket, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    fail("bind");
  }
  return ntohs(address.sin_port);
}

bool send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

void ByteWay::throttle(std::uint64_t bytes_per_second) {
  const std::lock_guard lock(mutex_);
  bytes_per_second_ = bytes_per_second;
  free_at_ = Clock::now();
  changed_.notify_all();
}

void ByteWay::stall() {
  const std::lock_guard lock(mutex_);
  stalled_ = true;
}

void ByteWay::resume() {
  const std::lock_guard lock(mutex_);
  stalled_ = false;
  changed_.notify_all();
}

void ByteWay::corrupt(std::uint32_t seed, std::uint64_t one_in) {
  const std::lock_guard lock(mutex_);
  random_.seed(seed);
  one_in_ = one_in;
  next_flip_ = one_in == 0 ? 0 : random_() % (2 * one_in);
}

void ByteWay::cut_after(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  cut_left_ = bytes;
}

void ByteWay::record() {
  const std::lock_guard lock(mutex_);
  records_ = true;
}

std::string ByteWay::recorded() const {
  const std::lock_guard lock(mutex_);
  return recorded_;
}

bool ByteWay::has_recorded(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return recorded_.find(text) != std::string::npos;
}

std::uint64_t ByteWay::passed() const {
  const std::lock_guard lock(mutex_);
  return passed_;
}

std::uint64_t ByteWay::flipped() const {
  const std::lock_guard lock(mutex_);
  return flipped_;
}

std::optional<ByteWay::Permit> ByteWay::admit(std::span<std::byte> bytes) {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !stalled_; });
    if (closed_) return std::nullopt;
    if (bytes_per_second_ == 0 || free_at_ <= Clock::now()) break;
    changed_.wait_until(lock, free_at_);
  }
  const Permit permit{.bytes = std::min<std::uint64_t>(bytes.size(), cut_left_), .cut = cut_left_ <= bytes.size()};
  if (permit.cut) {
    cut_left_ = kEndless;
  } else if (cut_left_ != kEndless) {
    cut_left_ -= permit.bytes;
  }
  if (bytes_per_second_ > 0) {
    free_at_ = std::max(free_at_, Clock::now() - 10ms) + permit.bytes * Clock::duration(1s) / bytes_per_second_;
  }
  if (one_in_ > 0) {
    std::uint64_t at = next_flip_;
    for (; at < permit.bytes; at += 1 + random_() % (2 * one_in_)) {
      bytes[at] ^= std::byte{1} << (random_() % 8);
      ++flipped_;
    }
    next_flip_ = at - permit.bytes;
  }
  passed_ += permit.bytes;
  if (records_) recorded_.append(reinterpret_cast<const char*>(bytes.data()), permit.bytes);
  return permit;
}

void ByteWay::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

ByteProxy::ByteProxy() : listening_(open_socket()), reserved_(open_socket()) {
  port_ = bind_anywhere(listening_.get());
  target_port_ = bind_anywhere(reserved_.get());
  if (::listen(listening_.get(), SOMAXCONN) != 0) fail("listen");
  thread_ = std::jthread([this] { run(); });
}

ByteProxy::~ByteProxy() {
  there_.close();
  back_.close();
  ::shutdown(listening_.get(), SHUT_RDWR);
  thread_.join();
  cut();
}

std::string ByteProxy::address() const { return fmt::format("tcp://127.0.0.1:{}", port_); }

std::string ByteProxy::target() const { return fmt::format("tcp://127.0.0.1:{}", target_port_); }

void ByteProxy::cut() {
  const std::lock_guard lock(mutex_);
  for (const Connection& connection : connections_) {
    ::shutdown(connection.peer.get(), SHUT_RDWR);
    ::shutdown(connection.node.get(), SHUT_RDWR);
  }
}

void ByteProxy::run() {
  while (true) {
    detail::FileDescriptor peer(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer.is_open()) {
      take(std::move(peer));
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;  // the destructor has shut the socket down
    }
  }
}

/// If the node does not listen, the proxy refuses too, by closing the connection.
void ByteProxy::take(detail::FileDescriptor peer) {
  detail::FileDescriptor node = open_socket();
  const sockaddr_in address = loopback(target_port_);
  if (::connect(node.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
  ++taken_;
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [](const Connection& connection) { return connection.pumps == 0; });
  Connection& made = connections_.emplace_back();
  made.peer = std::move(peer);
  made.node = std::move(node);
  made.there = std::jthread([this, &made] { pump(made, there_, made.peer.get(), made.node.get()); });
  made.back = std::jthread([this, &made] { pump(made, back_, made.node.get(), made.peer.get()); });
}

void ByteProxy::pump(Connection& connection, ByteWay& way, int from, int to) {
  std::vector<std::byte> piece(kPieceBytes);
  bool cuts = false;
  while (!cuts) {
    const ssize_t read = ::recv(from, piece.data(), piece.size(), 0);
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) break;
    std::span<std::byte> bytes = std::span{piece}.first(static_cast<std::size_t>(read));
    const auto permit = way.admit(bytes);
    if (!permit || !send_all(to, bytes.first(permit->bytes))) break;
    cuts = permit->cut;
  }
  ::shutdown(from, SHUT_RDWR);
  ::shutdown(to, SHUT_RDWR);
  --connection.pumps;
  if (cuts) cut();
}

}  // namespace troupe::testing
