#include "node/engines/host_part.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "messages/did_you_mean.h"
#include "node/config/settings.h"
#include "node/engines/engine_network.h"
#include "node/environment.h"
#include "node/hosts/placement.h"
#include "node/launch/node_variables.h"
#include "node/launch/role_program.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

std::size_t index_of_host(const ClusterConfig& config, const std::string& name) {
  const auto found = std::ranges::find(config.hosts, name, &HostConfig::name);
  if (found != config.hosts.end()) return static_cast<std::size_t>(found - config.hosts.begin());
  if (config.hosts.empty()) {
    throw ConfigError({fmt::format("{} has no [[host]], so nothing says what of it runs on {}", config.file, name)});
  }
  std::vector<std::string_view> names;
  for (const HostConfig& host : config.hosts) names.push_back(host.name);
  throw ConfigError({fmt::format("{} has no host \"{}\"{}; it has {}", config.file, name, did_you_mean(name, names),
                                 fmt::join(names, ", "))});
}

class HostPartPlanner {
 public:
  HostPartPlanner(ClusterConfig& config, const HostPartOptions& options, const LaunchHost& here)
      : config_(config),
        options_(options),
        here_(here),
        own_(index_of_host(config, options.host)),
        names_(node_names(config)),
        places_(place_nodes(config)) {
    if (config_.seed.empty()) config_.seed = config_.hosts[places_.front()].address;
  }

  LaunchPlan plan() && {
    const auto count = static_cast<int>(std::ranges::count(places_, own_));
    if (count == 0) {
      throw ConfigError(
          {fmt::format("{} places no node on host {}", config_.hosts[own_].name_origin.text(), options_.host)});
    }
    if (auto problems = addresses_of_all_hosts(config_); !problems.empty()) throw ConfigError(std::move(problems));
    check_key_file_config(config_, fmt::format("host.{}.address", config_.hosts[places_.front()].name));
    const int threads = math_threads_of(config_.node.math_threads, here_.cores, count);
    inherited_ = inherited_variables(here_.variables, threads);
    const RoleConfig* role = nullptr;
    ChildSpec program;
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      if (places_[rank] != own_) continue;
      const NodePlace place = place_of_rank(config_, rank);
      if (std::exchange(role, place.role) != place.role) program = program_of_role(*place.role);
      add(place, program);
    }
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    plan_.nodes_have_key_files = true;
    plan_.part = options_.host;
    return std::move(plan_);
  }

 private:
  /// Programs are looked for, and run, in the directory of the host.
  ChildSpec program_of_role(const RoleConfig& role) {
    const fs::path& own = config_.hosts[own_].working_dir;
    ChildSpec child = program_of(role, own.empty() ? config_.directory : own, here_.variables, problems_);
    if (child.working_dir.empty()) child.working_dir = own;
    return child;
  }

  void add(const NodePlace& place, const ChildSpec& program) {
    const RoleConfig& role = *place.role;
    KeyFileNode node = key_files_of(config_, place, options_.keys);
    node.address = address_of(place.rank, node);
    plan_.cluster_id = node.cluster_id;
    Variables variables = variables_of(config_, node);
    variables["TROUPE_PROGRESS"] = here_.shows_bars ? "bars" : "lines";
    add_host_variables(variables, config_.hosts[own_], role, plan_.nodes.size());
    variables.insert(inherited_.begin(), inherited_.end());
    NodePlan planned{.name = names_[place.rank],
                     .label = role.count == 1 ? role.name : fmt::format("{}/{}", role.name, place.index),
                     .on_exit = role.on_exit,
                     .child = program};
    planned.child.environment = std::move(variables);
    if (planned.name == config_.result) plan_.result = plan_.nodes.size();
    plan_.nodes.push_back(std::move(planned));
  }

  /// Returns where a node listens; empty: where it reaches the first one from.
  [[nodiscard]] std::string address_of(std::size_t rank, const KeyFileNode& node) const {
    const std::string& own = config_.hosts[own_].address;
    if (rank != 0) return own.empty() ? "" : TcpPlace{own, "*"}.text();
    return own.empty() ? node.address : TcpPlace{own, fmt::format("{}", config_.port)}.text();
  }

  ClusterConfig& config_;
  const HostPartOptions& options_;
  const LaunchHost& here_;
  const std::size_t own_;
  const std::vector<std::string> names_;   ///< of all nodes, by rank
  const std::vector<std::size_t> places_;  ///< the host of each
  Variables inherited_;
  LaunchPlan plan_;
  std::vector<std::string> problems_;
};

}  // namespace

LaunchPlan plan_host_part(ClusterConfig& config, const HostPartOptions& options, const LaunchHost& here) {
  if (options.keys.keys.empty()) {
    throw ConfigError({"--host needs --keys: the directory with the keys of its nodes (troupe keys)"});
  }
  return HostPartPlanner(config, options, here).plan();
}

}  // namespace troupe::detail

namespace troupe {

int run_host_part(ClusterConfig config, const HostPartOptions& options, const LaunchOptions& launch) {
  return detail::run_plan(config, launch,
                          [&] { return detail::plan_host_part(config, options, detail::this_host(launch.variables)); });
}

}  // namespace troupe
