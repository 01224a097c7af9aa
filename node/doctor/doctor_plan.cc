#include "node/doctor/doctor_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "node/hosts/host_plan.h"

namespace troupe::detail {
namespace {

/// Returns whether the user means a file, though there is none.
bool looks_like_file(std::string_view target) {
  return target.empty() || target.find('/') != std::string_view::npos || target.ends_with(".toml");
}

DoctorHost host_of(const ClusterConfig& config, std::size_t index) {
  const HostConfig& host = config.hosts[index];
  DoctorHost result;
  result.name = host.name;
  result.agent = host.agent;
  result.listen.address = host.address;
  result.listen.network = network_of_hosts(config);
  result.listen.ports = config.node.ports;
  result.listen.stream_ports = config.node.stream_ports;
  for (const HostConfig& other : config.hosts) {
    if (&other == &host) continue;
    if (const std::string& name = other.address.empty() ? other.reached_as : other.address; !name.empty()) {
      result.listen.toward.push_back(name);
    }
  }
  result.needs.encrypts = result.listen.network == "keys";
  return result;
}

/// Adds what is to be started on each host.
void add_nodes(const ClusterConfig& config, DoctorPlan& plan) {
  std::vector<std::string> names = node_names(config);
  const std::size_t count = names.size();
  std::vector<HostPlan> starts = plan_hosts({.config = config,
                                             .cluster_id = "doctor",
                                             .network = network_of_hosts(config),
                                             .names = std::move(names),
                                             .variables = std::vector<Variables>(count),
                                             .keys = {}});
  for (HostPlan& start : starts) {
    const auto host = std::ranges::find(plan.hosts, start.name, &DoctorHost::name);
    host->needs.nodes = start.nodes.size();
    if (start.nodes.front() == 0) plan.first = static_cast<std::size_t>(host - plan.hosts.begin());
    start.prepare.seed.reset();  // `listen` has tried it
    host->programs = std::move(start.prepare);
  }
  for (DoctorHost& host : plan.hosts) host.needs.nodes_of_cluster = count;
  plan.hosts[plan.first].listen.port = config.port;
}

}  // namespace

ClusterConfig doctor_target(const std::string& target, const Variables& variables,
                            std::span<const std::string> overrides) {
  std::error_code ignored;
  const bool is_file = std::filesystem::exists(target, ignored) && !std::filesystem::is_directory(target, ignored);
  if (is_file || looks_like_file(target)) return load_config(target, variables, overrides);
  if (target.starts_with('-')) throw ConfigError({fmt::format("\"{}\" is neither a file nor a host", target)});
  if (!overrides.empty()) throw ConfigError({fmt::format("--set: there is no file \"{}\" with such keys", target)});
  ClusterConfig config;
  config.name = target;
  config.transport = Transport::tcp;
  config.hosts.resize(2);
  config.hosts[0].name = "here";
  config.hosts[0].agent = {"/proc/self/exe", "agent"};
  config.hosts[1].name = target;
  config.hosts[1].reached_as = target.substr(target.find('@') + 1);
  config.hosts[1].agent = {"ssh", "-T", "-o", "BatchMode=yes", target, "troupe", "agent"};
  return config;
}

DoctorPlan plan_doctor(const ClusterConfig& config) {
  if (config.hosts.empty()) {
    throw ConfigError({fmt::format("{}: it has no [[host]], and `troupe doctor` is about hosts", config.file)});
  }
  DoctorPlan plan;
  plan.has_network = config.transport == Transport::tcp;
  plan.ports = config.node.ports;
  for (std::size_t i = 0; i < config.hosts.size(); ++i) plan.hosts.push_back(host_of(config, i));
  plan.first = config.hosts.size() - 1;  // without nodes, the one that ssh reaches: sshd tells its address
  if (!config.roles.empty()) add_nodes(config, plan);
  return plan;
}

}  // namespace troupe::detail
