#include "node/launch/launch_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "node/keys/key_ring.h"
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

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

struct Port {
  FileDescriptor reservation;
  std::string number;
};

/// Binds without listening: no other process gets the port, yet the seed (SO_REUSEADDR) can listen there. `host` is
/// numeric.
Port reserve_port(const ClusterConfig& config, const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const std::string wanted = fmt::format("{}", config.port);
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
  setsockopt(reservation.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(reservation.get(), first->ai_addr, first->ai_addrlen) != 0 ||
      getsockname(reservation.get(), any_address, &size) != 0) {
    throw ConfigError({fmt::format("{}: cluster.port: cannot use port {} of {}: {}", config.port_origin.text(), wanted,
                                   host, strerror(errno))});
  }
  std::array<char, NI_MAXSERV> number{};
  getnameinfo(any_address, size, nullptr, 0, number.data(), number.size(), NI_NUMERICSERV);
  return Port{std::move(reservation), number.data()};
}

class Planner {
 public:
  Planner(const ClusterConfig& config, const LaunchHost& host) : config_(config), host_(host) {}

  LaunchPlan plan() && {
    for (const RoleConfig& role : config_.roles) {
      for (int index = 0; index < role.count; ++index) names_.push_back(node_name(role, index));
    }
    plan_.cluster_id = random_id();
    plan_addresses();
    if (encrypts_) rings_ = make_run_keys(names_);
    base_ = base_environment();
    for (const RoleConfig& role : config_.roles) plan_role(role);
    if (!problems_.empty()) throw ConfigError(std::move(problems_));
    const auto result = std::find(names_.begin(), names_.end(), config_.result);
    if (result != names_.end()) plan_.result = static_cast<std::size_t>(result - names_.begin());
    return std::move(plan_);
  }

 private:
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
      Port port = reserve_port(config_, host_numbers_);
      seed_bind_ = TcpPlace{host_numbers_, port.number}.text();
      seed_ = TcpPlace{is_any_address(host_numbers_) ? "127.0.0.1" : host_numbers_, port.number}.text();
      plan_.reserved_port = std::move(port.reservation);
    } catch (const ConfigError& error) {
      problems_.push_back(error.lines().front());
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }

  /// Returns a name in the abstract namespace, which leaves no file behind.
  std::string ipc_address(std::string_view name) const {
    return fmt::format("ipc://@troupe-{}-{}", plan_.cluster_id, name);
  }

  Variables base_environment() const {
    Variables result = host_.variables;
    std::erase_if(result, [](const auto& variable) { return variable.first.starts_with("TROUPE__"); });
    for (const char* stale : {"TROUPE_SECRET_FD", "TROUPE_SECRET_FILE", "TROUPE_KEYS_FD"}) result.erase(stale);
    const int processes = static_cast<int>(names_.size());
    const int threads =
        config_.node.math_threads > 0 ? config_.node.math_threads : std::max(1, host_.cores / processes);
    const std::string threads_text = fmt::format("{}", threads);
    // A user's setting for the math libraries has priority.
    result.emplace("OMP_NUM_THREADS", threads_text);
    result.emplace("OMP_WAIT_POLICY", "passive");
    result.emplace("OPENBLAS_NUM_THREADS", threads_text);
    result.emplace("OPENBLAS_THREAD_TIMEOUT", "4");  // idle threads sleep after 2^4 cycles instead of spinning on
    result.merge(as_variables(config_.node));
    if (encrypts_) result[variable_name("cluster", "network")] = "keys";
    result["TROUPE_MATH_THREADS"] = threads_text;
    result["TROUPE_CLUSTER"] = config_.name;
    result["TROUPE_CLUSTER_ID"] = plan_.cluster_id;
    result["TROUPE_WORLD"] = fmt::format("{}", fmt::join(names_, ","));
    result["TROUPE_SEED"] = seed_;
    result["TROUPE_PROGRESS"] = host_.shows_bars ? "bars" : "lines";
    return result;
  }

  void plan_role(const RoleConfig& role) {
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
    for (int index = 0; index < role.count; ++index) {
      const std::size_t rank = plan_.nodes.size();
      NodePlan node;
      node.name = names_[rank];
      node.label = role.count == 1 ? role.name : fmt::format("{}/{}", role.name, index);
      node.on_exit = role.on_exit;
      node.child = child;
      node.child.environment = base_;
      if (encrypts_) node.child.keys = rings_[rank];
      node.child.environment["TROUPE_NODE"] = node.name;
      node.child.environment["TROUPE_ROLE"] = role.name;
      node.child.environment["TROUPE_INDEX"] = fmt::format("{}", index);
      node.child.environment["TROUPE_RANK"] = fmt::format("{}", rank);
      node.child.environment["TROUPE_ADDRESS"] = address(rank);
      for (const auto& [name, value] : role.env) node.child.environment[name] = value;
      plan_.nodes.push_back(std::move(node));
    }
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
      const auto found = host_.variables.find("PATH");
      const std::string path = found == host_.variables.end() ? "/usr/local/bin:/usr/bin:/bin" : found->second;
      for (std::size_t begin = 0; begin <= path.size();) {
        const std::size_t end = std::min(path.find(':', begin), path.size());
        const fs::path candidate = fs::path(path.substr(begin, end - begin)) / name;
        if (candidate.is_absolute() && is_program(candidate)) return candidate;
        begin = end + 1;
      }
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
  Variables base_;
  LaunchPlan plan_;
  std::vector<std::string> problems_;
};

}  // namespace

LaunchPlan plan_launch(const ClusterConfig& config, const LaunchHost& host) { return Planner(config, host).plan(); }

}  // namespace troupe::detail
