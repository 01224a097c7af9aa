#include "node/joining/host_names.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "node/links/tcp_place.h"

namespace troupe {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr Duration kPause = std::chrono::milliseconds{250};

using Addresses = Result<std::vector<std::string>>;

struct HostAndPort {
  std::string host;
  std::string port;
};

std::optional<HostAndPort> split(std::string_view seed) {
  seed.remove_prefix(kTcp.size());
  const std::size_t colon = seed.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string_view port = seed.substr(colon + 1);
  int number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size() || number < 1 || number > 65'535) return std::nullopt;
  return HostAndPort{std::string(seed.substr(0, colon)), std::string(port)};
}

bool is_numeric(const std::string& host) {
  in_addr ignored{};
  return host.starts_with('[') || inet_pton(AF_INET, host.c_str(), &ignored) == 1;
}

/// The system's resolver cannot be interrupted, so it runs on a separate thread, which may be abandoned.
std::optional<Addresses> look_up_until(const HostLookup& lookup, const std::string& host,
                                       std::optional<TimePoint> due) {
  auto promise = std::make_shared<std::promise<Addresses>>();
  std::future<Addresses> answer = promise->get_future();
  std::thread([promise, lookup, host] {
    try {
      promise->set_value(lookup(host));
    } catch (...) {
      promise->set_exception(std::current_exception());
    }
  }).detach();
  if (due && answer.wait_until(*due) != std::future_status::ready) return std::nullopt;
  return answer.get();
}

/// Looks the host up until it has an address, at most until `due`. Errors: peer_unreachable.
Addresses wait_for_host(const HostLookup& lookup, const std::string& host, std::optional<TimePoint> due) {
  std::string reason = "no answer";
  while (true) {
    std::optional<Addresses> found = look_up_until(lookup, host, due);
    if (found && *found && !found->value().empty()) return *std::move(found);
    if (found) reason = *found ? "it has no address" : found->error().message;
    const TimePoint again = std::chrono::steady_clock::now() + kPause;
    if (due && again >= *due) {
      return Error{.code = ErrorCode::peer_unreachable,
                   .message = fmt::format("the host name \"{}\" cannot be resolved: {}", host, reason),
                   .operation = "join",
                   .execution = Execution::never};
    }
    std::this_thread::sleep_until(again);
  }
}

Addresses look_up_own(const std::string& host) {
  try {
    return std::vector<std::string>{numbers_of(host)};
  } catch (const std::invalid_argument& error) {
    return Error{.code = ErrorCode::peer_unreachable, .message = error.what(), .execution = Execution::never};
  }
}

}  // namespace

Addresses look_up_host(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int failure = getaddrinfo(host.c_str(), nullptr, &hints, &first); failure != 0) {
    return Error{.code = ErrorCode::peer_unreachable, .message = gai_strerror(failure), .execution = Execution::never};
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  std::vector<std::string> addresses;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) continue;
    std::string address = one->ai_family == AF_INET6 ? fmt::format("[{}]", text.data()) : std::string(text.data());
    if (std::ranges::find(addresses, address) == addresses.end()) addresses.push_back(std::move(address));
  }
  return addresses;
}

Addresses addresses_of(const std::string& seed, std::optional<TimePoint> due, const HostLookup& lookup) {
  if (!seed.starts_with(kTcp)) return std::vector<std::string>{seed};
  const auto parts = split(seed);
  if (!parts) {
    return Error{.code = ErrorCode::bad_argument,
                 .message = fmt::format("\"{}\" is not tcp://HOST:PORT", seed),
                 .endpoint = seed,
                 .operation = "join",
                 .execution = Execution::never};
  }
  if (is_numeric(parts->host)) return std::vector<std::string>{seed};
  const Addresses found = wait_for_host(lookup, parts->host, due);
  if (!found) {
    Error error = found.error();
    error.endpoint = seed;
    return error;
  }
  std::vector<std::string> addresses;
  for (const std::string& address : found.value()) {
    addresses.push_back(fmt::format("{}{}:{}", kTcp, address, parts->port));
  }
  return addresses;
}

Result<std::string> own_numbers_of(const std::string& host, std::optional<TimePoint> due, const HostLookup& lookup) {
  in6_addr ignored{};
  if (host == "*" || is_numeric(host) || inet_pton(AF_INET6, host.c_str(), &ignored) == 1) return host;
  Addresses found = wait_for_host(lookup, host, due);
  if (!found) return found.error();
  return std::move(found).value().front();
}

Result<std::string> own_numbers_of(const std::string& host, std::optional<TimePoint> due) {
  return own_numbers_of(host, due, &look_up_own);
}

}  // namespace troupe
