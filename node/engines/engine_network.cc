#include "node/engines/engine_network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>

#include "node/hosts/host_address.h"
#include "node/launch/local_addresses.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kAddressSetting = "cluster.address";
constexpr std::size_t kHostsLookedUp = 3;  // a name that nobody knows may take the resolver ten seconds

/// Returns what of `config` several hosts cannot have.
std::vector<std::string> problems_over_hosts(const ClusterConfig& config) {
  std::vector<std::string> problems;
  const bool is_given = config.transport_origin.layer != Origin::Layer::built_in;
  if (is_given && config.transport == Transport::ipc) {
    problems.push_back(fmt::format("{}: cluster.transport: nodes on several hosts reach each other by \"tcp\" only",
                                   config.transport_origin.text()));
  }
  if (config.node.network == "loopback") {
    problems.push_back(
        fmt::format("{}: cluster.network: \"loopback\" is one machine, and this step has several: leave network out, "
                    "and nodes encrypt with keys of this run",
                    config.network_origin.text()));
  }
  refuse_advertise(config, problems);
  return problems;
}

}  // namespace

EngineNetwork::EngineNetwork(ClusterConfig& config, const EnginePlace& place) : config_(config), place_(place) {
  std::vector<std::string> problems;
  if (!config.hosts.empty()) {
    problems.push_back(fmt::format("{}: host.{}: [[host]] is for `troupe up`; {} has its own hosts",
                                   config.hosts.front().name_origin.text(), config.hosts.front().name,
                                   starter_of(place.engine)));
  }
  if (place.several_hosts) {
    const std::vector<std::string> more = problems_over_hosts(config);
    problems.insert(problems.end(), more.begin(), more.end());
    config.transport = Transport::tcp;
    if (config.node.network == "auto") config.node.network = "keys";
    encrypts_ = config.node.network == "keys";
  } else {
    NetworkHere here = network_here(config, problems);
    listen_ = std::move(here.listen);
    encrypts_ = here.encrypts;
    if (encrypts_) config.node.network = "keys";
  }
  if (!problems.empty()) throw ConfigError(std::move(problems));
}

std::string EngineNetwork::listen_first(const std::string& cluster_id, const std::vector<std::string>& hosts) {
  if (config_.transport == Transport::ipc) return ipc_address(cluster_id, node_names(config_).front());
  std::vector<std::string> problems;
  SeedPlace seed = reserve_seed(config_, place_.several_hosts ? first_host(hosts) : listen_, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  first_bind_ = std::move(seed.bind);
  reservation_ = std::move(seed.reservation);
  return std::move(seed.reached);
}

std::string EngineNetwork::address(const std::string& cluster_id, const std::string& name,
                                   const std::string& seed) const {
  if (config_.transport == Transport::ipc) return ipc_address(cluster_id, name);
  if (place_.rank == 0) return first_bind_;
  if (!place_.several_hosts) return TcpPlace{listen_, "*"}.text();
  const std::string host = node_address(config_.node.address, seed, config_.node.network, kAddressSetting);
  return TcpPlace{host, "*"}.text();
}

std::string EngineNetwork::first_host(const std::vector<std::string>& hosts) const {
  std::vector<std::string> toward(hosts.begin(),
                                  hosts.begin() + static_cast<std::ptrdiff_t>(std::min(hosts.size(), kHostsLookedUp)));
  toward.insert(toward.end(), place_.starters.begin(), place_.starters.end());
  // SSH_CONNECTION of a task is that of the user's login where the step was started.
  const Variables none;
  try {
    return seed_address({config_.node.address, toward, config_.node.network, none, kAddressSetting});
  } catch (const std::invalid_argument&) {
    std::string only = config_.node.address.empty() ? only_address() : std::string();
    if (only.empty()) throw;
    return only;
  }
}

std::string only_of(const std::vector<InterfaceAddress>& addresses) {
  const auto of_ipv4 = std::ranges::count(addresses, false, &InterfaceAddress::is_ipv6);
  const bool is_ipv6 = of_ipv4 == 0;
  if (of_ipv4 > 1 || (is_ipv6 && addresses.size() != 1)) return {};
  return std::ranges::find(addresses, is_ipv6, &InterfaceAddress::is_ipv6)->numbers;
}

std::string only_address() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(first, &freeifaddrs);
  std::vector<InterfaceAddress> addresses;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = each->ifa_addr->sa_family;
    const void* bytes = nullptr;
    if (family == AF_INET) {
      bytes = &reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    } else if (family == AF_INET6) {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr;
      if (!IN6_IS_ADDR_LINKLOCAL(&address)) bytes = &address;
    }
    if (bytes == nullptr || inet_ntop(family, bytes, text.data(), text.size()) == nullptr) continue;
    addresses.push_back({text.data(), family == AF_INET6});
  }
  return only_of(addresses);
}

}  // namespace troupe::detail
