#include "node/launch/local_addresses.h"

#include <fmt/format.h>

#include <stdexcept>
#include <system_error>
#include <utility>

#include "node/launch/reserved_port.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kTcpOnly = "nodes listen over TCP with transport = \"tcp\" only";

std::string address_problem(const ClusterConfig& config, std::string_view why) {
  return fmt::format("{}: cluster.address: {}", config.address_origin.text(), why);
}

}  // namespace

NetworkHere network_here(const ClusterConfig& config, std::vector<std::string>& problems) {
  const std::string& host = config.node.address;
  const std::string& network = config.node.network;
  NetworkHere here;
  refuse_advertise(config, problems);
  if (config.transport == Transport::ipc) {
    if (network == "keys") {
      problems.push_back(fmt::format(
          "{}: cluster.network: \"keys\" encrypts tcp; set transport = \"tcp\", or leave network out: nothing of "
          "transport = \"ipc\" leaves this machine",
          config.network_origin.text()));
    }
    if (!host.empty()) {
      problems.push_back(address_problem(config, kTcpOnly));
    }
    return here;
  }
  try {
    if (!host.empty()) here.listen = numbers_of(host);
  } catch (const std::invalid_argument& error) {
    problems.push_back(address_problem(config, error.what()));
    return here;
  }
  here.encrypts = network == "keys" || (network == "auto" && !is_loopback(here.listen));
  if (!is_loopback(here.listen) && network == "loopback") {
    problems.push_back(
        address_problem(config, fmt::format("{} can be reached from other machines: {}", host, kTrustHint)));
  }
  return here;
}

void refuse_advertise(const ClusterConfig& config, std::vector<std::string>& problems) {
  if (config.node.advertise.empty()) return;
  problems.push_back(fmt::format(
      "{}: cluster.advertise = \"{}\" is for one node, and all nodes would get it; set it for a node that is "
      "started by itself (`troupe node --keys`)",
      config.advertise_origin.text(), config.node.advertise));
}

void refuse_ports(const ClusterConfig& config, std::vector<std::string>& problems) {
  const auto refuse = [&problems](std::string_view key, const Origin& origin) {
    problems.push_back(fmt::format("{}: {}: {}", origin.text(), key, kTcpOnly));
  };
  if (config.port != 0) refuse("cluster.port", config.port_origin);
  if (!config.node.ports.empty()) refuse("cluster.ports", config.ports_origin);
  if (!config.node.stream_ports.empty()) refuse("cluster.stream_ports", config.stream_ports_origin);
}

SeedPlace reserve_seed(const ClusterConfig& config, const std::string& listen, std::vector<std::string>& problems) {
  try {
    ReservedPort port = reserve_port(listen, config.port, PortRange::parse(config.node.ports));
    return {.bind = TcpPlace{listen, port.number}.text(),
            .reached = TcpPlace{is_any_address(listen) ? "127.0.0.1" : listen, port.number}.text(),
            .reservation = std::move(port.reservation)};
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::address_not_available) {
      problems.push_back(address_problem(config, fmt::format("{} is no address of this machine", listen)));
      return {};
    }
    const bool is_chosen = config.port == 0 && !config.node.ports.empty();
    problems.push_back(is_chosen ? fmt::format("cluster.ports: cannot use a port of {} of {}: {}", config.node.ports,
                                               listen, error.code().message())
                                 : fmt::format("{}: cluster.port: cannot use port {} of {}: {}",
                                               config.port_origin.text(), config.port, listen, error.code().message()));
  } catch (const std::invalid_argument& error) {
    problems.push_back(address_problem(config, error.what()));
  }
  return {};
}

std::string ipc_address(std::string_view cluster_id, std::string_view name) {
  return fmt::format("ipc://@troupe-{}-{}", cluster_id, name);
}

}  // namespace troupe::detail
