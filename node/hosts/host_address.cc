#include "node/hosts/host_address.h"

#include <fmt/format.h>

#include <optional>
#include <stdexcept>

#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

/// Returns `numbers` if nodes of `network` may listen there. For errors: `named` is what the user wrote, `setting`
/// where.
std::string checked_address(const std::string& numbers, std::string_view named, std::string_view network,
                            std::string_view setting) {
  if (is_any_address(numbers)) {
    throw std::invalid_argument(fmt::format("{}: other hosts need one address, not all of them", named));
  }
  if (network == "loopback" && !is_loopback(numbers)) {
    throw std::invalid_argument(fmt::format("{} can be reached from other machines: {}", named, kTrustHint));
  }
  if (network != "loopback" && is_loopback(numbers)) {
    throw std::invalid_argument(
        fmt::format("{} is {}, which other hosts cannot reach: set {}", named, numbers, setting));
  }
  return numbers;
}

std::optional<std::string> numbers_if_known(const std::string& name, const NameLookup& look_up) {
  try {
    return look_up(name);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

/// Returns whether hosts of other wires, too, may reach the numeric `address`.
bool may_be_reached(const std::string& address) { return !is_loopback(address) && !is_link_local(address); }

}  // namespace

std::string NameLookup::operator()(const std::string& name) const {
  if (before) before(name);
  return numbers ? numbers(name) : numbers_of(name);
}

std::string seed_address(const SeedAddressRequest& request) {
  if (!request.address.empty()) {
    return checked_address(request.look_up(std::string(request.address)),
                           fmt::format("{} = \"{}\"", request.setting, request.address), request.network,
                           request.setting);
  }
  if (request.network == "loopback") return "127.0.0.1";
  if (const std::string ssh = address_of_ssh(request.variables); !ssh.empty() && may_be_reached(ssh)) return ssh;
  std::size_t unknown = 0;
  for (const std::string& name : request.toward) {
    if (unknown == SeedAddressRequest::kUnknownMax) break;
    const auto numbers = numbers_if_known(name, request.look_up);
    if (!numbers) ++unknown;
    const auto own = numbers ? own_address_toward(*numbers) : std::nullopt;
    if (own && may_be_reached(*own)) return *own;
  }
  throw std::invalid_argument(
      fmt::format("no address of this host is known that others reach: set {}", request.setting));
}

std::string node_address(std::string_view address, std::string_view seed, std::string_view network,
                         std::string_view setting, const NameLookup& look_up) {
  if (!address.empty()) {
    return checked_address(look_up(std::string(address)), fmt::format("{} = \"{}\"", setting, address), network,
                           setting);
  }
  const auto place = TcpPlace::parse(seed);
  if (!place) throw std::invalid_argument(fmt::format("\"{}\" is not an address of the first node", seed));
  const auto own = own_address_toward(place->host);
  if (!own) throw std::invalid_argument(fmt::format("no route to the first node at {}", seed));
  return checked_address(*own, fmt::format("the address toward {}", seed), network, setting);
}

std::string address_of_ssh(const Variables& variables) {
  const auto found = variables.find("SSH_CONNECTION");
  if (found == variables.end()) return {};
  std::string_view text = found->second;  // "CLIENT PORT SERVER PORT"
  for (int word = 0; word < 2; ++word) {
    const std::size_t blank = text.find(' ');
    if (blank == std::string_view::npos) return {};
    text.remove_prefix(blank + 1);
  }
  return std::string(text.substr(0, text.find(' ')));
}

}  // namespace troupe::detail
