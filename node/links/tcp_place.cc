#include "node/links/tcp_place.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "node/file_descriptor.h"

namespace troupe {
namespace {

constexpr std::string_view kTcp = "tcp://";

bool is_port(std::string_view text) {
  if (text == "*") return true;
  if (text.starts_with('-')) return false;  // "-0" would be a number
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= 0 && number <= 65'535;
}

bool is_ipv4_loopback(const in_addr& address) { return (ntohl(address.s_addr) >> 24) == 127; }

bool is_number(const std::string& host) {
  in6_addr ignored{};
  return inet_pton(AF_INET, host.c_str(), &ignored) == 1 || inet_pton(AF_INET6, host.c_str(), &ignored) == 1;
}

std::string text_of(const sockaddr& address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(&address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

struct Found {
  int family = AF_UNSPEC;
  std::string numbers;
};

/// Those of IPv6 that are good for one wire only need more than numbers to be used: they are left out.
std::vector<Found> addresses_of_interface(const std::string& name) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<Found> found;
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || name != one->ifa_name) continue;
    const int family = one->ifa_addr->sa_family;
    if (family == AF_INET) found.push_back({family, text_of(*one->ifa_addr, sizeof(sockaddr_in))});
    if (family == AF_INET6) {
      sockaddr_in6 address{};
      std::memcpy(&address, one->ifa_addr, sizeof address);
      if (IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) continue;
      found.push_back({family, text_of(*one->ifa_addr, sizeof address)});
    }
  }
  return found;
}

std::vector<Found> addresses_of_host(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (const int failure = getaddrinfo(name.c_str(), nullptr, &hints, &first); failure != 0) {
    throw std::invalid_argument(
        fmt::format("\"{}\" is no interface of this machine, and as a host: {}", name, gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  std::vector<Found> found;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    found.push_back({one->ai_family, text_of(*one->ai_addr, one->ai_addrlen)});
  }
  return found;
}

}  // namespace

std::optional<TcpPlace> TcpPlace::parse(std::string_view address) {
  if (!address.starts_with(kTcp)) return std::nullopt;
  address.remove_prefix(kTcp.size());
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || !is_port(address.substr(colon + 1))) return std::nullopt;
  std::string_view host = address.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || host.find_first_of("[]") != std::string_view::npos) return std::nullopt;
  if (!bracketed && host.find(':') != std::string_view::npos) return std::nullopt;
  return TcpPlace{std::string(host), std::string(address.substr(colon + 1))};
}

std::string TcpPlace::text() const {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("{}[{}]:{}", kTcp, host, port) : fmt::format("{}{}:{}", kTcp, host, port);
}

bool is_loopback(const std::string& host) {
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return is_ipv4_loopback(four);
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) != 1) return false;
  if (!IN6_IS_ADDR_V4MAPPED(&six)) return IN6_IS_ADDR_LOOPBACK(&six);
  std::memcpy(&four, &six.s6_addr[12], sizeof four);
  return is_ipv4_loopback(four);
}

bool is_link_local(const std::string& host) {
  in6_addr six{};
  return inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &six) == 1 && IN6_IS_ADDR_LINKLOCAL(&six);
}

bool is_any_address(const std::string& host) { return host == "*" || host == "0.0.0.0" || host == "::"; }

std::string numbers_of(const std::string& host) {
  if (host == "*" || is_number(host)) return host;
  std::vector<Found> found = addresses_of_interface(host);
  if (found.empty()) found = addresses_of_host(host);
  if (found.empty()) throw std::invalid_argument(fmt::format("\"{}\" has no address", host));
  const auto four = std::ranges::find(found, AF_INET, &Found::family);
  return four == found.end() ? found.front().numbers : four->numbers;
}

TcpPlace advertised_place(const std::string& text) {
  const std::optional<TcpPlace> place = TcpPlace::parse(text);
  if (!place) throw std::invalid_argument(fmt::format("advertise: \"{}\" is not tcp://HOST:PORT", text));
  const std::string host = numbers_of(place->host);
  if (is_any_address(host)) throw std::invalid_argument(fmt::format("advertise: peers cannot connect to \"{}\"", text));
  return {host, place->port == "0" ? "*" : place->port};
}

std::optional<std::string> own_address_toward(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), "9", &hints, &first) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  // Connecting a datagram socket sends nothing: the kernel looks the way up.
  const detail::FileDescriptor socket(::socket(first->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!socket.is_open() || ::connect(socket.get(), first->ai_addr, first->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) {
    return std::nullopt;
  }
  return text_of(reinterpret_cast<const sockaddr&>(own), size);
}

}  // namespace troupe
