#include "node/launch/launch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "node/keys/key_ring.h"
#include "node/launch/node_variables.h"
#include "node/launch/program_path.h"
#include "node/launch/reserved_port.h"
#include "node/links/tcp_place.h"

namespace troupe::detail {
namespace {

namespace fs = std::filesystem;

std::string random_id() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  return fmt::format("{:016x}", bits);
}

class Planner {
 public:
  Planner(const ClusterConfig& config, const LaunchHost& host) : config_(config), host_(host) {}

  LaunchPlan plan() && {
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index) names_.push_back(node_name(role, index));
    }
    plan_.cluster_id = random_id();
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
    if (encrypts_) rings_ = make_run_keys(names_);
    add_nodes();
    const int threads = math_threads_of(config_.node.math_threads, host_.cores, static_cast<int>(names_.size()));
    const Variables inherited = inherited_variables(host_.variables, threads);
    std::size_t rank = 0;
    for (const RoleConfig& role : config_.roles) {
      const ChildSpec child = plan_role(role);
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
    if (encrypts_) rings_ = make_run_keys(names_);
    add_nodes();
    HostPlanRequest request{config_, plan_.cluster_id, network, names_, {}, rings_};
    std::size_t rank = 0;
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index, ++rank) {
        Variables variables = variables_of(rank, role, index);
        if (config_.transport == Transport::ipc) {
          variables["TROUPE_SEED"] = ipc_address(names_.front());
          variables["TROUPE_ADDRESS"] = ipc_address(names_[rank]);
        }
        request.variables.push_back(std::move(variables));
      }
    }
    plan_.hosts = plan_hosts(std::move(request));
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
    Variables result = as_variables(config_.node);
    if (encrypts_) result[variable_name("cluster", "network")] = "keys";
    result["TROUPE_CLUSTER"] = config_.name;
    result["TROUPE_CLUSTER_ID"] = plan_.cluster_id;
    result["TROUPE_WORLD"] = fmt::format("{}", fmt::join(names_, ","));
    result["TROUPE_PROGRESS"] = host_.shows_bars ? "bars" : "lines";
    result["TROUPE_NODE"] = names_[rank];
    result["TROUPE_ROLE"] = role.name;
    result["TROUPE_INDEX"] = fmt::format("{}", index);
    result["TROUPE_RANK"] = fmt::format("{}", rank);
    return result;
  }

  void plan_addresses() {
    const std::string& host = config_.node.address;
    const auto refuse = [&](std::string_view why) {
      problems_.push_back(fmt::format("{}: cluster.address: {}", config_.address_origin.text(), why));
    };
    const std::string& network = config_.node.network;
    if (config_.transport == Transport::ipc) {
      if (network == "keys") {
        problems_.push_back(fmt::format(
            "{}: cluster.network: \"keys\" encrypts tcp; set transport = \"tcp\", or leave network out: nothing of "
            "transport = \"ipc\" leaves this machine",
            config_.network_origin.text()));
      }
      if (!host.empty()) refuse("nodes listen over TCP with transport = \"tcp\" only");
      seed_ = ipc_address(names_.front());
      return;
    }
    try {
      if (!host.empty()) host_numbers_ = numbers_of(host);
      encrypts_ = network == "keys" || (network == "auto" && !is_loopback(host_numbers_));
      if (!is_loopback(host_numbers_) && network == "loopback") {
        refuse(fmt::format("{} can be reached from other machines: {}", host, kTrustHint));
        return;
      }
      ReservedPort port = reserve_port(host_numbers_, config_.port);
      seed_bind_ = TcpPlace{host_numbers_, port.number}.text();
      seed_ = TcpPlace{is_any_address(host_numbers_) ? "127.0.0.1" : host_numbers_, port.number}.text();
      plan_.reserved_port = std::move(port.reservation);
    } catch (const std::system_error& error) {
      problems_.push_back(fmt::format("{}: cluster.port: cannot use port {} of {}: {}", config_.port_origin.text(),
                                      config_.port, host_numbers_, error.code().message()));
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }

  /// Returns a name in the abstract namespace, which leaves no file behind.
  std::string ipc_address(std::string_view name) const {
    return fmt::format("ipc://@troupe-{}-{}", plan_.cluster_id, name);
  }

  ChildSpec plan_role(const RoleConfig& role) {
    ChildSpec child;
    child.program = find_program(role);
    child.arguments.assign(role.command.begin() + 1, role.command.end());
    if (!role.working_dir.empty()) {
      child.working_dir = (config_.directory / role.working_dir).lexically_normal();
      std::error_code ignored;
      if (!fs::is_directory(child.working_dir, ignored)) {
        problems_.push_back(fmt::format("{}: role.working_dir: no directory {}", role.working_dir_origin.text(),
                                        child.working_dir.string()));
      }
    }
    return child;
  }

  std::string address(std::size_t rank) const {
    if (config_.transport == Transport::ipc) return ipc_address(names_[rank]);
    return rank == 0 ? seed_bind_ : TcpPlace{host_numbers_, "*"}.text();
  }

  /// Finds the command's program: in the file's directory, otherwise, for a bare name, on PATH.
  fs::path find_program(const RoleConfig& role) {
    const std::string& name = role.command.front();
    const fs::path beside_file = (config_.directory / name).lexically_normal();
    if (is_program(beside_file)) return beside_file;
    std::error_code ignored;
    const bool is_bare = name.find('/') == std::string::npos;
    if (is_bare) {
      if (auto found = find_on_path(name, host_.variables)) return *std::move(found);
    }
    if (fs::is_regular_file(beside_file, ignored)) {
      problems_.push_back(fmt::format("{}: role.command: {} is not executable (chmod +x)", role.command_origin.text(),
                                      beside_file.string()));
    } else {
      problems_.push_back(fmt::format("{}: role.command: no program \"{}\" in {}{}", role.command_origin.text(), name,
                                      config_.directory.string(), is_bare ? " or on PATH" : ""));
    }
    return {};
  }

  const ClusterConfig& config_;
  const LaunchHost& host_;
  std::vector<std::string> names_;
  std::string host_numbers_ = "127.0.0.1";  ///< where nodes listen over TCP
  std::string seed_bind_;                   ///< where the seed listens
  std::string seed_;                        ///< where the seed is reached
  bool encrypts_ = false;                   ///< with keys of this run
  std::vector<KeyRing> rings_;              ///< by rank
  LaunchPlan plan_;
  std::vector<std::string> problems_;
};

}  // namespace

LaunchPlan plan_launch(const ClusterConfig& config, const LaunchHost& host) { return Planner(config, host).plan(); }

}  // namespace troupe::detail
