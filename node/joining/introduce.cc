#include "node/joining/introduce.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "node/file_descriptor.h"
#include "node/joining/host_names.h"
#include "node/keys/introduction.h"
#include "node/links/socket_address.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr Duration kAttempt = std::chrono::seconds{5};
constexpr Duration kPause = std::chrono::milliseconds{100};

Error failure(ErrorCode code, const IntroductionPlace& place, std::string_view why) {
  return Error{.code = code,
               .message = fmt::format("{} does not let this node in: {}", place.member, why),
               .peer = place.member,
               .endpoint = place.endpoint,
               .operation = "join",
               .execution = Execution::never};
}

/// One connection. All members throw std::system_error for its end and at `due`.
class Attempt {
 public:
  Attempt(const SocketAddress& to, TimePoint due)
      : socket_(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)), due_(due) {
    if (!socket_.is_open()) fail(errno);
    if (::connect(socket_.get(), to.get(), to.size) == 0) return;
    if (errno != EINPROGRESS) fail(errno);
    wait_for(POLLOUT);
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error != 0) fail(error);
  }

  void send(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && !is_later(errno)) fail(errno);
      if (sent < 0) wait_for(POLLOUT);
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
  }

  /// Returns false at the end of what the other side says.
  [[nodiscard]] bool receive(std::span<std::byte> bytes) const {
    while (!bytes.empty()) {
      wait_for(POLLIN);
      const ssize_t came = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (came == 0 || (came < 0 && errno == ECONNRESET)) return false;
      if (came < 0 && !is_later(errno)) fail(errno);
      bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(came, 0)));
    }
    return true;
  }

 private:
  [[noreturn]] static void fail(int error) { throw std::system_error(error, std::generic_category()); }
  [[nodiscard]] static bool is_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

  void wait_for(short events) const {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(due_ - std::chrono::steady_clock::now());
    pollfd polled{.fd = socket_.get(), .events = events, .revents = 0};
    if (left.count() <= 0 || ::poll(&polled, 1, static_cast<int>(left.count())) == 0) fail(ETIMEDOUT);
  }

  FileDescriptor socket_;
  TimePoint due_;
};

/// Returns all that the other side says; nullopt if it ended before.
std::optional<std::vector<std::byte>> answer_to(std::span<const std::byte> request, const Attempt& attempt) {
  attempt.send(request);
  std::vector<std::byte> answer(kIntroductionHead);
  if (!attempt.receive(answer)) return std::nullopt;
  const auto rest = introduction_rest(answer);
  if (!rest) return answer;
  answer.resize(kIntroductionHead + *rest);
  if (!attempt.receive(std::span(answer).subspan(kIntroductionHead))) return std::nullopt;
  return answer;
}

}  // namespace

Result<Unit> introduce(const IntroductionPlace& place, const KeyPair& own, const std::string& certificate,
                       std::optional<TimePoint> due) {
  using enum ErrorCode;
  const auto request = Introduction{own.public_key(), certificate}.sealed_to(place.key);
  if (!request) return failure(bad_argument, place, "its key is none");
  const auto addresses = addresses_of(place.endpoint, due);
  if (!addresses) return addresses.error();
  while (true) {
    std::string why;
    std::optional<Error> unheard;
    for (const std::string& address : addresses.value()) {
      const auto to =
          address.starts_with(kTcp) ? host_address(std::string_view(address).substr(kTcp.size())) : std::nullopt;
      if (!to) return failure(bad_argument, place, fmt::format("\"{}\" is not tcp://HOST:PORT", address));
      const TimePoint now = std::chrono::steady_clock::now();
      try {
        const Attempt attempt(*to, due ? std::min(*due, now + kAttempt) : now + kAttempt);
        const auto answer = answer_to(*request, attempt);
        const auto opened = answer ? IntroductionAnswer::open(*answer, *request, own, place.key) : std::nullopt;
        if (opened && opened->refused) return failure(*opened->refused, place, opened->text);
        if (opened) return Unit{};
        if (answer) {
          unheard = failure(auth_failed, place,
                            fmt::format("what is at {} does not answer with the key that the list of members has of {}",
                                        address, place.member));
        }
        why = fmt::format("{} ended the connection", address);  // under attack, before this one had its turn
      } catch (const std::system_error& error) {
        why = fmt::format("{}: {}", address, error.code().message());
      }
    }
    if (unheard) return *unheard;
    if (due && std::chrono::steady_clock::now() + kPause >= *due) return failure(peer_unreachable, place, why);
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace troupe::detail
