#include "node/hosts/placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "node/launch/local_addresses.h"

namespace troupe::detail {
namespace {

class Placer {
 public:
  explicit Placer(const ClusterConfig& config) : config_(config), used_(config.hosts.size()) {}

  std::vector<std::size_t> place() && {
    for (const RoleConfig& role : config_.roles) place_role(role);
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    return std::move(hosts_);
  }

 private:
  void place_role(const RoleConfig& role) {
    const std::vector<std::size_t> allowed = hosts_of(role);
    const std::size_t per_host = std::max<std::size_t>(1, static_cast<std::size_t>(role.count) / allowed.size());
    for (int index = 0; index < role.count; ++index) {
      std::optional<std::size_t> host;
      switch (role.placement) {
        case RolePlacement::spread: host = emptiest(allowed); break;
        case RolePlacement::pack: host = first_free(allowed); break;
        case RolePlacement::per_host:
          host = allowed[static_cast<std::size_t>(index) / per_host];
          if (!has_slot(*host)) host.reset();
          break;
      }
      if (!host) return say_full(role, index, allowed);
      ++used_[*host];
      hosts_.push_back(*host);
    }
  }

  std::vector<std::size_t> hosts_of(const RoleConfig& role) const {
    std::vector<std::size_t> allowed;
    for (std::size_t i = 0; i < config_.hosts.size(); ++i) {
      const bool is_named = std::find(role.hosts.begin(), role.hosts.end(), config_.hosts[i].name) != role.hosts.end();
      if (role.hosts.empty() || is_named) allowed.push_back(i);
    }
    return allowed;
  }

  bool has_slot(std::size_t host) const {
    const int slots = config_.hosts[host].slots;
    return slots == 0 || used_[host] < static_cast<std::size_t>(slots);
  }

  std::optional<std::size_t> first_free(const std::vector<std::size_t>& allowed) const {
    const auto found = std::find_if(allowed.begin(), allowed.end(), [&](std::size_t host) { return has_slot(host); });
    return found == allowed.end() ? std::nullopt : std::optional(*found);
  }

  std::optional<std::size_t> emptiest(const std::vector<std::size_t>& allowed) const {
    std::optional<std::size_t> best;
    for (const std::size_t host : allowed) {
      if (has_slot(host) && (!best || used_[host] < used_[*best])) best = host;
    }
    return best;
  }

  void say_full(const RoleConfig& role, int index, const std::vector<std::size_t>& allowed) {
    std::vector<std::string> hosts;
    for (const std::size_t host : allowed) {
      hosts.push_back(fmt::format("{} ({} of {})", config_.hosts[host].name, used_[host], config_.hosts[host].slots));
    }
    problems_.push_back(fmt::format("{}: role.count: no slot is left for {}; used are {}", role.count_origin.text(),
                                    node_name(role, index), fmt::join(hosts, ", ")));
  }

  const ClusterConfig& config_;
  std::vector<std::size_t> used_;  ///< processes on each host
  std::vector<std::size_t> hosts_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::size_t> place_nodes(const ClusterConfig& config) { return Placer(config).place(); }

std::vector<std::string> addresses_of_all_hosts(const ClusterConfig& config) {
  std::vector<std::string> problems;
  if (!config.node.address.empty()) {
    problems.push_back(
        fmt::format("{}: cluster.address = \"{}\" is for one machine; with [[host]], each has host.address",
                    config.address_origin.text(), config.node.address));
  }
  refuse_advertise(config, problems);
  return problems;
}

void add_host_variables(Variables& variables, const HostConfig& host, const RoleConfig& role, std::size_t index) {
  if (host.gpus > 0) {
    variables["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", index % static_cast<std::size_t>(host.gpus));
  }
  for (const StringTable& env : {host.env, role.env}) {
    for (const auto& [name, value] : env) variables[name] = value;
  }
}

}  // namespace troupe::detail
