// Connections to streams that no node made, or that somebody meddles with.
#pragma once

#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/links/streams/stream_control.h"

namespace troupe::testing {

using detail::StreamControl;

/// A socket bound to a free port of this host; connections queue at it if it listens, and are refused otherwise.
class RawPort {
 public:
  explicit RawPort(std::optional<int> backlog) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof place;
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    BOOST_REQUIRE(::bind(socket_.get(), address, size) == 0);
    BOOST_REQUIRE(!backlog || ::listen(socket_.get(), *backlog) == 0);
    BOOST_REQUIRE(::getsockname(socket_.get(), address, &size) == 0);
    number_ = ntohs(place.sin_port);
  }
  [[nodiscard]] std::uint16_t number() const { return number_; }
  /// Waits for the next connection. Returns an empty descriptor once the port is closed.
  [[nodiscard]] detail::FileDescriptor accept() const {
    return detail::FileDescriptor(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  /// Ends waits in accept().
  void close() const { (void)::shutdown(socket_.get(), SHUT_RDWR); }

  /// For StreamNode: who is told where a stream is accepted is told this port instead.
  [[nodiscard]] std::function<bool(StreamControl&)> rewrite() const {
    return [port = number_](StreamControl& control) {
      if (control.kind == StreamControl::Kind::accept) control.port = port;
      return true;
    };
  }

 private:
  const detail::FileDescriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t number_ = 0;
};

/// A TCP connection of nobody's to a port of this host.
class Raw {
 public:
  explicit Raw(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    BOOST_REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }
  bool write(std::string_view bytes) const {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  /// Returns whether the other end closes the connection within `patience`.
  [[nodiscard]] bool is_closed_within(std::chrono::milliseconds patience) const {
    pollfd end{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&end, 1, static_cast<int>(patience.count())) == 1;
  }

 private:
  const detail::FileDescriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

/// Cuts every TCP connection that this process made to `port`. Returns their number.
inline int cut_connections_to(std::uint16_t port) {
  int cut = 0;
  for (int descriptor = 3; descriptor < 4096; ++descriptor) {
    sockaddr_in end{};
    socklen_t size = sizeof end;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&end), &size) != 0 || end.sin_family != AF_INET) continue;
    if (ntohs(end.sin_port) == port && ::shutdown(descriptor, SHUT_RDWR) == 0) ++cut;
  }
  return cut;
}

/// Somebody in the middle: passes on what a peer writes to `port`, and changes one byte of the first connection.
class Meddler {
 public:
  explicit Meddler(std::size_t changed_byte) : changed_byte_(changed_byte) {
    thread_ = std::thread([this] { work(); });
  }
  ~Meddler() {
    port_.close();
    {
      const std::lock_guard lock(mutex_);
      for (const int end : ends_) (void)::shutdown(end, SHUT_RDWR);
      stopped_ = true;
    }
    thread_.join();
  }
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;

  /// Puts itself between the peers: rewrites the port that one of them says.
  std::function<bool(StreamControl&)> rewrite() {
    return [this](StreamControl& control) {
      if (control.kind == StreamControl::Kind::accept) target_ = std::exchange(control.port, port_.number());
      return true;
    };
  }

 private:
  void work() {
    std::vector<std::thread> connections;
    for (int number = 0;; ++number) {
      detail::FileDescriptor from = port_.accept();
      if (!from.is_open()) break;
      connections.emplace_back([this, from = std::move(from), number] { pass_on(from, number == 0); });
    }
    for (std::thread& each : connections) each.join();
  }
  void pass_on(const detail::FileDescriptor& from, bool meddles) {
    const Raw to(target_);
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      ends_.push_back(from.get());
    }
    std::vector<char> bytes(1 << 16);
    std::size_t passed = 0;
    while (true) {
      const ssize_t got = ::recv(from.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) break;
      const std::size_t count = static_cast<std::size_t>(got);
      if (meddles && changed_byte_ >= passed && changed_byte_ < passed + count) bytes[changed_byte_ - passed] ^= 1;
      passed += count;
      if (!to.write({bytes.data(), count})) break;
    }
    const std::lock_guard lock(mutex_);
    std::erase(ends_, from.get());
  }

  const std::size_t changed_byte_;
  const RawPort port_{16};
  std::atomic<std::uint16_t> target_ = 0;
  std::mutex mutex_;
  std::vector<int> ends_;  // guarded by mutex_
  bool stopped_ = false;   // guarded by mutex_
  std::thread thread_;
};

}  // namespace troupe::testing
