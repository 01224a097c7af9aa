#include "node/hosts/host_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>
#include <utility>

#include "node/hosts/agent_frames.h"
#include "node/hosts/host_programs.h"
#include "node/hosts/placement.h"
#include "node/launch/local_addresses.h"
#include "node/launch/program_path.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSeedRoom = 4 << 10;  // in an order, for the address of the first node, which its host finds

/// Moves the variables that all nodes have alike to the order itself. The names of all nodes are among them: with each
/// node they would make an order grow with the square of their number.
void share_variables(AgentStart& start) {
  if (start.nodes.empty()) return;
  Variables shared = start.nodes.front().variables;
  for (const AgentNode& node : start.nodes) {
    std::erase_if(shared, [&node](const auto& variable) {
      const auto found = node.variables.find(variable.first);
      return found == node.variables.end() || found->second != variable.second;
    });
  }
  for (AgentNode& node : start.nodes) {
    std::erase_if(node.variables, [&shared](const auto& variable) { return shared.contains(variable.first); });
  }
  start.variables = std::move(shared);
}

class HostPlanner {
 public:
  explicit HostPlanner(HostPlanRequest request) : request_(std::move(request)), config_(request_.config) {}

  std::vector<HostPlan> plan() && {
    check_network();
    for (const RoleConfig& role : config_.roles) find_program(role);
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    const std::vector<std::size_t> places = place_nodes(config_);
    for (const HostConfig& host : config_.hosts) plans_.push_back(plan_of(host));
    std::size_t rank = 0;
    for (std::size_t role = 0; role < config_.roles.size(); ++role) {
      for (int index = 0; index < config_.roles[role].count; ++index, ++rank) place(rank, role, places[rank]);
    }
    plan_seed(places.front());
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      share_variables(plans_[i].start);
      check_orders(config_.hosts[i], plans_[i]);
    }
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    std::erase_if(plans_, [](const HostPlan& plan) { return plan.nodes.empty(); });
    return std::move(plans_);
  }

 private:
  /// A program as it is here.
  struct Program {
    fs::path here;  ///< empty: each host looks on its PATH
    std::string hash;
    std::uint64_t size = 0;
  };

  void check_network() {
    problems_ = addresses_of_all_hosts(config_);
    if (config_.transport == Transport::ipc) {
      if (config_.node.network == "keys") {
        problems_.push_back(fmt::format("{}: cluster.network: \"keys\" encrypts tcp; set transport = \"tcp\"",
                                        config_.network_origin.text()));
      }
      refuse_ports(config_, problems_);
    }
    const auto by_ssh = std::find_if(config_.hosts.begin(), config_.hosts.end(),
                                     [](const auto& host) { return !host.reached_as.empty(); });
    if (config_.hosts.size() < 2 || request_.network != "loopback" || by_ssh == config_.hosts.end()) return;
    problems_.push_back(
        fmt::format("{}: cluster.network: \"loopback\" is this machine, and host {} is another: leave "
                    "network out, and nodes encrypt with keys of this run",
                    config_.network_origin.text(), by_ssh->name));
  }

  void find_program(const RoleConfig& role) {
    const std::string& name = role.command.front();
    const fs::path beside_file = (config_.directory / name).lexically_normal();
    const bool is_bare = name.find('/') == std::string::npos;
    Program program;
    if (is_program(beside_file)) {
      try {
        program = {beside_file, hash_of_file(beside_file), fs::file_size(beside_file)};
      } catch (const std::system_error& error) {
        problems_.push_back(fmt::format("{}: role.command: {}", role.command_origin.text(), error.what()));
      }
    } else if (!is_bare) {
      problems_.push_back(fmt::format("{}: role.command: no program \"{}\" in {}", role.command_origin.text(), name,
                                      config_.directory.string()));
    }
    programs_.push_back(std::move(program));
  }

  HostPlan plan_of(const HostConfig& host) const {
    HostPlan plan;
    plan.name = host.name;
    plan.agent = host.agent;
    plan.prepare.cluster_id = request_.cluster_id;
    plan.prepare.network = request_.network;
    if (!config_.node.debug) plan.prepare.lease = config_.node.lease;
    plan.start.address = host.address;
    plan.start.math_threads = config_.node.math_threads;
    return plan;
  }

  void place(std::size_t rank, std::size_t role_index, std::size_t host_index) {
    const RoleConfig& role = config_.roles[role_index];
    const HostConfig& host = config_.hosts[host_index];
    HostPlan& plan = plans_[host_index];
    AgentNode node;
    node.name = request_.names[rank];
    node.program = program_of(role_index, host_index);
    node.arguments.assign(role.command.begin() + 1, role.command.end());
    node.working_dir = working_dir(role, host);
    node.variables = request_.variables[rank];
    add_host_variables(node.variables, host, role, plan.nodes.size());
    plan.start.nodes.push_back(std::move(node));
    plan.nodes.push_back(rank);
    if (!request_.keys.empty()) plan.keys.push_back(request_.keys[rank]);
  }

  /// Returns the index of the role's program on the host, which is added if it is new there.
  std::size_t program_of(std::size_t role_index, std::size_t host_index) {
    const auto [known, is_new] = program_indices_.try_emplace({role_index, host_index}, 0);
    if (!is_new) return known->second;
    const Program& program = programs_[role_index];
    const std::string& name = config_.roles[role_index].command.front();
    AgentProgram wanted{name, program.hash, program.size, config_.copy};
    if (!program.here.empty()) wanted.path = (directory(config_.hosts[host_index]) / name).lexically_normal();
    HostPlan& plan = plans_[host_index];
    known->second = plan.prepare.programs.size();
    plan.prepare.programs.push_back(std::move(wanted));
    plan.programs_here.push_back(program.here);
    return known->second;
  }

  const fs::path& directory(const HostConfig& host) const {
    return host.working_dir.empty() ? config_.directory : host.working_dir;
  }

  std::string working_dir(const RoleConfig& role, const HostConfig& host) const {
    if (!role.working_dir.empty()) return (directory(host) / role.working_dir).lexically_normal();
    return host.working_dir.empty() ? fs::current_path() : host.working_dir;
  }

  void plan_seed(std::size_t host_index) {
    if (config_.transport != Transport::tcp) return;
    AgentSeed seed{config_.hosts[host_index].address, config_.port, config_.node.ports, {}};
    for (std::size_t i = 0; i < config_.hosts.size(); ++i) {
      const HostConfig& other = config_.hosts[i];
      if (i == host_index || plans_[i].nodes.empty()) continue;
      if (const std::string& name = other.address.empty() ? other.reached_as : other.address; !name.empty()) {
        seed.toward.push_back(name);
      }
    }
    plans_[host_index].prepare.seed = std::move(seed);
  }

  /// Refuses what an agent could not be told.
  void check_orders(const HostConfig& host, const HostPlan& plan) {
    const auto refuse = [&](std::string_view why) {
      problems_.push_back(fmt::format("{}: host {}: {}", host.name_origin.text(), host.name, why));
    };
    const auto check_size = [&](std::size_t bytes, std::string_view what, std::string_view hint) {
      if (bytes <= AgentFrameReader::kBodyMax) return;
      refuse(fmt::format("{} have {} bytes, and an agent takes {}: {}", what, bytes, AgentFrameReader::kBodyMax, hint));
    };
    try {
      check_size(json_of(plan.prepare).size(),
                 fmt::format("the paths of its {} programs", plan.prepare.programs.size()), "shorter ones");
      check_size(json_of(plan.start).size() + kSeedRoom,
                 fmt::format("names, arguments and variables of its {} nodes", plan.start.nodes.size()),
                 "more hosts, or shorter ones");
    } catch (const AgentProtocolError& error) {
      refuse(error.what());
    }
  }

  HostPlanRequest request_;
  const ClusterConfig& config_;
  std::vector<Program> programs_;                                               ///< of each role
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> program_indices_;  ///< by role and host
  std::vector<HostPlan> plans_;                                                 ///< of all hosts
  std::vector<std::string> problems_;
};

}  // namespace

std::string network_of_hosts(const ClusterConfig& config) {
  if (config.node.network != "auto") return config.node.network;
  if (config.transport == Transport::ipc) return "loopback";
  return config.hosts.size() > 1 || !config.hosts.front().address.empty() ? "keys" : "loopback";
}

std::vector<HostPlan> plan_hosts(HostPlanRequest request) { return HostPlanner(std::move(request)).plan(); }

}  // namespace troupe::detail
