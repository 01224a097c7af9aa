#include "node/launch/reserved_port.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe::detail {
namespace {

/// A port that is bound, and not listened at, can be bound by others that share it too, and by nobody else.
enum class Others { share, do_not };

ReservedPort reserve(const std::string& host, int port, Others others) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const std::string wanted = fmt::format("{}", port);
  if (const int failure = getaddrinfo(host == "*" ? "0.0.0.0" : host.c_str(), wanted.c_str(), &hints, &first);
      failure != 0) {
    throw std::invalid_argument(gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(first, &freeaddrinfo);
  FileDescriptor reservation(socket(first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  auto* const any_address = reinterpret_cast<sockaddr*>(&bound);
  const int on = 1;
  const auto share = [&] { setsockopt(reservation.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on); };
  if (others == Others::share) share();
  if (bind(reservation.get(), first->ai_addr, first->ai_addrlen) != 0 ||
      getsockname(reservation.get(), any_address, &size) != 0) {
    throw std::system_error(errno, std::generic_category());
  }
  share();  // with the node that will listen there
  std::array<char, NI_MAXSERV> number{};
  getnameinfo(any_address, size, nullptr, 0, number.data(), number.size(), NI_NUMERICSERV);
  return {std::move(reservation), number.data()};
}

}  // namespace

ReservedPort reserve_port(const std::string& host, int port, const std::optional<PortRange>& ports) {
  if (port != 0 || !ports) return reserve(host, port, Others::share);
  // First those that nobody has reserved, or used until a minute ago.
  for (const Others others : {Others::do_not, Others::share}) {
    for (int number = ports->low; number <= ports->high; ++number) {
      try {
        return reserve(host, number, others);
      } catch (const std::system_error& error) {
        const bool is_last = others == Others::share && number == ports->high;
        if (is_last || error.code() != std::errc::address_in_use) throw;
      }
    }
  }
  throw std::logic_error("[reserve_port] an empty range of ports");
}

}  // namespace troupe::detail
