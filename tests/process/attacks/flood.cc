#include "tests/process/attacks/flood.h"

#include <boost/test/unit_test.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "messages/frame.h"
#include "node/links/ready_set.h"
#include "node/links/socket_address.h"
#include "node/links/zmq_link_socket.h"
#include "tests/process/attacks/stranger.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMessagesPerTurn = 25;
constexpr std::uint64_t kTurnsMax = 20;      // after a pause no more than these are made up for
constexpr std::uint64_t kOpeningTurns = 20;  // then a node has answered, or never will
constexpr std::string_view kJunk{"thirty bytes that mean nothing"};
static_assert(kJunk.size() == 30);
constexpr std::size_t kReadBytes = 8192;

[[noreturn]] void throw_errno(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

detail::FileDescriptor every_millisecond() {
  detail::FileDescriptor clock(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const itimerspec turns{.it_interval = {.tv_sec = 0, .tv_nsec = 1'000'000},
                         .it_value = {.tv_sec = 0, .tv_nsec = 1'000'000}};
  if (!clock.is_open() || ::timerfd_settime(clock.get(), 0, &turns, nullptr) != 0) throw_errno("timer");
  return clock;
}

SocketAddress place_of(std::string_view address) {
  const auto place = address.starts_with("tcp://") ? host_address(address.substr(6)) : unix_address(address.substr(6));
  if (!place) throw std::invalid_argument(fmt::format("no address to flood: {}", address));
  return *place;
}

/// Returns a connection; not open if none is accepted within 0.1 s.
detail::FileDescriptor connection_to(std::string_view address) {
  const SocketAddress place = place_of(address);
  detail::FileDescriptor socket(::socket(place.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval patience{.tv_sec = 0, .tv_usec = 100'000};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket.get(), place.get(), place.size) != 0) socket.close();
  return socket;
}

/// What a client of ZMTP 3.0 says before its first message: the greeting, 64 bytes, and READY.
std::string opening_without_security() {
  std::string words = std::string("\xFF\0\0\0\0\0\0\0\1\x7F", 10) + std::string("\3\0", 2) + "NULL";
  words.resize(64, '\0');
  const std::string ready = std::string("\5READY\xBSocket-Type\0\0\0\6DEALER", 28);
  return words + '\4' + static_cast<char>(ready.size()) + ready;
}

}  // namespace

Flood::Flood(Kind kind, std::string address, std::optional<PublicKey> server, uid_t user)
    : clock_(every_millisecond()), thread_([this, kind, address = std::move(address), server, user] {
        if (user != ::geteuid()) become_user(user);
        run(kind, address, server);
      }) {}

Flood::~Flood() {
  stopped_ = true;
  thread_.join();
}

void Flood::await(std::uint64_t messages) const {
  const std::uint64_t wanted = offered_ + messages;
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (offered_ < wanted && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST_REQUIRE(offered_ >= wanted);
}

void Flood::run(Kind kind, const std::string& address, const std::optional<PublicKey>& server) {
  if (kind == Kind::client) return send_messages(address, server);
  if (kind == Kind::junk) return send_bytes("", kJunk, address);
  send_bytes(opening_without_security(), std::string{'\0', '\x1E'} + std::string(kJunk), address);
}

void Flood::send_bytes(std::string_view opening, std::string_view message, const std::string& address) {
  detail::FileDescriptor socket;
  std::string rest;  // of what the kernel took in part
  std::size_t answered = 0;
  std::uint64_t opening_turns = 0;
  std::array<char, 4096> answer{};
  while (!stopped_) {
    const std::uint64_t turns = wait_for_turn();
    std::uint64_t messages = turns * kMessagesPerTurn;
    offered_ += messages;
    if (!socket.is_open()) {
      socket = connection_to(address);
      if (!socket.is_open()) continue;
      ++connections_;
      rest = opening;
      opening_turns = opening.empty() ? 0 : kOpeningTurns;
      answered = 0;
    }
    if (opening_turns > 0) messages = 0;
    opening_turns -= std::min(turns, opening_turns);
    for (std::uint64_t i = 0; i < messages && rest.size() < kReadBytes; ++i) rest += message;
    const ssize_t taken = ::send(socket.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (taken > 0) {
      sent_ += static_cast<std::uint64_t>(taken) / message.size();
      rest.erase(0, static_cast<std::size_t>(taken));
    }
    ssize_t got = 0;
    while ((got = ::recv(socket.get(), answer.data(), answer.size(), MSG_DONTWAIT)) > 0)
      answered += static_cast<std::size_t>(got);
    answered_ = std::max<std::size_t>(answered_, answered);
    if (got == 0 || errno != EAGAIN) socket.close();
  }
}

void Flood::send_messages(const std::string& address, const std::optional<PublicKey>& server) {
  constexpr ZmqSocketLimits kLimits{
      .frame_bytes_max = 1 << 20, .frames_max = 100, .queue_messages_max = 1000, .handshake_timeout = 2s};
  const KeyPair drawn = KeyPair::random();
  ReadySet ready;
  ZmqContext context;
  ZmqSocket socket = ZmqSocket::open(context, ZmqSocket::Kind::watched_dealer, kLimits).value();
  if (server) (void)socket.secure_as_client(drawn, *server).value();
  (void)socket.tell(ready, 0).value();
  (void)socket.connect(address).value();
  const auto bytes = std::as_bytes(std::span(kJunk));
  const Frames message{make_frame({bytes.begin(), bytes.end()})};
  while (!stopped_) {
    const std::uint64_t messages = wait_for_turn() * kMessagesPerTurn;
    offered_ += messages;
    for (const ZmqSocket::Event event : socket.events()) {
      if (event == ZmqSocket::Event::connected) let_in_ = true;
      ++connections_;
    }
    for (std::uint64_t i = 0; i < messages && socket.send(message); ++i) ++sent_;
    while (socket.receive()) {
    }
  }
}

/// Returns the number of milliseconds since the last turn.
std::uint64_t Flood::wait_for_turn() const {
  std::uint64_t turns = 0;
  if (::read(clock_.get(), &turns, sizeof turns) != sizeof turns) throw_errno("timer");
  return std::min(turns, kTurnsMax);
}

Sink::Sink(std::string_view like) {
  const bool is_tcp = like.starts_with("tcp://");
  const SocketAddress place = place_of(is_tcp ? "tcp://127.0.0.1:0" : fmt::format("ipc://@troupe-sink-{}", ::getpid()));
  listening_ = detail::FileDescriptor(::socket(place.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  SocketAddress bound;
  bound.size = sizeof bound.bytes;
  if (::bind(listening_.get(), place.get(), place.size) != 0 || ::listen(listening_.get(), 256) != 0 ||
      ::getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size) != 0) {
    throw_errno("sink");
  }
  address_ = is_tcp ? "tcp://" + host_and_port_of(bound) : fmt::format("ipc://@troupe-sink-{}", ::getpid());
  thread_ = std::thread([this] { run(); });
}

Sink::~Sink() {
  stopped_ = true;
  thread_.join();
}

void Sink::run() const {
  std::vector<pollfd> polled{{.fd = listening_.get(), .events = POLLIN, .revents = 0}};
  std::vector<detail::FileDescriptor> connections;
  std::array<char, kReadBytes> piece{};
  while (!stopped_) {
    if (::poll(polled.data(), polled.size(), 20) <= 0) continue;
    for (std::size_t i = connections.size(); i > 0; --i) {
      if (polled[i].revents == 0 || ::recv(polled[i].fd, piece.data(), piece.size(), 0) > 0) continue;
      polled.erase(polled.begin() + static_cast<std::ptrdiff_t>(i));
      connections.erase(connections.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
    if (polled[0].revents == 0) continue;
    detail::FileDescriptor next(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!next.is_open()) continue;
    polled.push_back({.fd = next.get(), .events = POLLIN, .revents = 0});
    connections.push_back(std::move(next));
  }
}

}  // namespace troupe::testing
