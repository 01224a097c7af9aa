#include "node/launch/launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "node/keys/dump_guard.h"
#include "node/keys/key_ring.h"
#include "node/launch/local_addresses.h"
#include "node/launch/node_variables.h"
#include "node/launch/role_program.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

class Planner {
 public:
  Planner(const ClusterConfig& config, const LaunchHost& host) : config_(config), host_(host) {}

  LaunchPlan plan() && {
    names_ = node_names(config_);
    plan_.cluster_id = random_cluster_id();
    if (config_.hosts.empty()) {
      plan_here();
    } else {
      plan_on_hosts();
    }
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    const auto result = std::find(names_.begin(), names_.end(), config_.result);
    if (result != names_.end()) plan_.result = static_cast<std::size_t>(result - names_.begin());
    return std::move(plan_);
  }

 private:
  void plan_here() {
    plan_addresses();
    encrypts_ = network_.encrypts;
    if (encrypts_) draw_keys();
    add_nodes();
    const int threads = math_threads_of(config_.node.math_threads, host_.cores, static_cast<int>(names_.size()));
    const Variables inherited = inherited_variables(host_.variables, threads);
    std::size_t rank = 0;
    for (const RoleConfig& role : config_.roles) {
      const ChildSpec child = program_of(role, config_.directory, host_.variables, problems_);
      for (int index = 0; index < role.count; ++index, ++rank) {
        Variables variables = variables_of(rank, role, index);
        variables["TROUPE_SEED"] = seed_;
        variables["TROUPE_ADDRESS"] = address(rank);
        for (const auto& [name, value] : role.env) variables[name] = value;
        variables.insert(inherited.begin(), inherited.end());
        plan_.nodes[rank].child = child;
        plan_.nodes[rank].child.environment = std::move(variables);
        if (encrypts_) plan_.nodes[rank].child.keys = rings_[rank];
      }
    }
  }

  void plan_on_hosts() {
    const std::string network = network_of_hosts(config_);
    encrypts_ = network == "keys";
    if (encrypts_) draw_keys();
    add_nodes();
    HostPlanRequest request{config_, plan_.cluster_id, network, names_, {}, rings_};
    std::size_t rank = 0;
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index, ++rank) {
        Variables variables = variables_of(rank, role, index);
        if (config_.transport == Transport::ipc) {
          variables["TROUPE_SEED"] = ipc_address(plan_.cluster_id, names_.front());
          variables["TROUPE_ADDRESS"] = ipc_address(plan_.cluster_id, names_[rank]);
        }
        request.variables.push_back(std::move(variables));
      }
    }
    plan_.hosts = plan_hosts(std::move(request));
  }

  /// This process has the keys of all nodes from now on: none of them may look into it.
  void draw_keys() {
    if (!config_.node.debug) forbid_attaching();
    rings_ = make_run_keys(names_);
  }

  void add_nodes() {
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index) {
        NodePlan node;
        node.name = node_name(role, index);
        node.label = role.count == 1 ? role.name : fmt::format("{}/{}", role.name, index);
        node.on_exit = role.on_exit;
        plan_.nodes.push_back(std::move(node));
      }
    }
  }

  /// Returns the variables of a node, but for addresses.
  Variables variables_of(std::size_t rank, const RoleConfig& role, int index) const {
    Variables result = place_variables(config_, plan_.cluster_id, names_, {rank, role.name, index});
    if (encrypts_) result[variable_name("cluster", "network")] = "keys";
    result["TROUPE_PROGRESS"] = host_.shows_bars ? "bars" : "lines";
    return result;
  }

  void plan_addresses() {
    network_ = network_here(config_, problems_);
    if (config_.transport == Transport::ipc) {
      refuse_ports(config_, problems_);
      seed_ = ipc_address(plan_.cluster_id, names_.front());
    } else if (problems_.empty()) {
      SeedPlace place = reserve_seed(config_, network_.listen, problems_);
      seed_ = std::move(place.reached);
      seed_bind_ = std::move(place.bind);
      plan_.reserved_port = std::move(place.reservation);
    }
  }

  std::string address(std::size_t rank) const {
    if (config_.transport == Transport::ipc) return ipc_address(plan_.cluster_id, names_[rank]);
    return rank == 0 ? seed_bind_ : TcpPlace{network_.listen, "*"}.text();
  }

  const ClusterConfig& config_;
  const LaunchHost& host_;
  std::vector<std::string> names_;
  NetworkHere network_;         ///< of nodes that all run here
  std::string seed_bind_;       ///< where the seed listens
  std::string seed_;            ///< where the seed is reached
  bool encrypts_ = false;       ///< with keys of this run
  std::vector<KeyRing> rings_;  ///< by rank
  LaunchPlan plan_;
  std::vector<std::string> problems_;
};

}  // namespace

LaunchPlan plan_launch(const ClusterConfig& config, const LaunchHost& host) { return Planner(config, host).plan(); }

}  // namespace troupe::detail
