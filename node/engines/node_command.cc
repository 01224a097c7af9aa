#include "node/engines/node_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "node/core_quota.h"
#include "node/engines/engine_network.h"
#include "node/engines/engine_place.h"
#include "node/engines/first_process.h"
#include "node/engines/key_exchange.h"
#include "node/engines/munge_proof.h"
#include "node/environment.h"
#include "node/file_descriptor.h"
#include "node/launch/filled_pipe.h"
#include "node/launch/node_variables.h"
#include "node/launch/role_program.h"
#include "node/process_domain.h"

namespace troupe {
namespace {

using namespace detail;

constexpr std::size_t kNamesShown = 8;

void check_tasks(const ClusterConfig& config, const std::vector<std::string>& names, const EnginePlace& place) {
  if (names.size() == place.tasks) return;
  const std::vector<std::string> shown(
      names.begin(), names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesShown)));
  throw EngineError(
      fmt::format("{} asks for {} node{} ({}{}), and the step has {} task{}: start it with {} -n {}, or "
                  "change role.count",
                  config.file, names.size(), names.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                  names.size() > kNamesShown ? ", ..." : "", place.tasks, place.tasks == 1 ? "" : "s",
                  starter_of(place.engine), names.size()));
}

std::string name_of_this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "unknown";
}

/// Returns the threads of mathematics: of the cores that this process may use, and of its share of the host.
int math_threads(const ClusterConfig& config, std::size_t nodes_here) {
  const auto here = static_cast<int>(nodes_here);
  const int online = std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));
  const int all = std::min(online, core_quota().value_or(online));  // tasks of a host share its container
  return math_threads_of(config.node.math_threads, std::min(all, available_cores() * here), here);
}

/// Lets the program that this process becomes have `descriptor`.
int inherited(const FileDescriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFD, 0);
  return descriptor.get();
}

[[noreturn]] void become(ChildSpec spec) {
  std::vector<std::string> arguments{spec.program.string()};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = environment_lines(spec.environment);
  if (!spec.working_dir.empty() && chdir(spec.working_dir.c_str()) != 0) {
    throw SpawnError(fmt::format("cannot enter {}: {}", spec.working_dir.string(), strerror(errno)));
  }
  const FileDescriptor domain = domain_of(spec.environment);
  if (domain.is_open() && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !enter_domain(domain.get()))) {
    throw SpawnError(fmt::format("cannot confine {}: {}", spec.program.string(), strerror(errno)));
  }
  execve(spec.program.c_str(), exec_pointers(arguments).data(), exec_pointers(environment).data());
  throw SpawnError(fmt::format("cannot start {}: {}", spec.program.string(), strerror(errno)));
}

ExchangedRun exchange(const NodeCommandOptions& options, const std::vector<std::string>& names,
                      const EnginePlace& place, EngineNetwork& network) {
  const std::string cluster_id = random_cluster_id();
  KeyExchange exchange({.directory = jobs_directory(options.job_dir, options.variables) / place.job,
                        .job = place.job,
                        .names = names,
                        .rank = place.rank,
                        .host = name_of_this_host(),
                        .cluster_id = cluster_id,
                        .listen = [&](const auto& hosts) { return network.listen_first(cluster_id, hosts); },
                        .proof = munge_proof(options.munge, place.engine)});
  return finish(exchange, {.now = &std::chrono::steady_clock::now,
                           .pause = [](Duration pause) { std::this_thread::sleep_for(pause); },
                           .patience = options.config.node.join_timeout});
}

/// Returns the program of the node's role, with the arguments that were added.
ChildSpec program_of_node(const NodeCommandOptions& options, const RoleConfig& role) {
  std::vector<std::string> problems;
  ChildSpec spec = program_of(role, options.config.directory, options.variables, problems);
  if (!problems.empty()) throw ConfigError(std::move(problems));
  spec.arguments.insert(spec.arguments.end(), options.arguments.begin(), options.arguments.end());
  return spec;
}

/// Becomes the program, with the node's variables in `spec`, those of its role, and those that it inherits.
[[noreturn]] void become_with(ChildSpec spec, const NodeCommandOptions& options, const RoleConfig& role,
                              std::size_t nodes_here) {
  Variables& variables = spec.environment;
  variables["TROUPE_PROGRESS"] = "lines";
  for (const auto& [name, value] : role.env) variables[name] = value;
  variables.merge(inherited_variables(options.variables, math_threads(options.config, nodes_here)));
  become(std::move(spec));
}

[[noreturn]] void become_task(NodeCommandOptions& options) {
  ClusterConfig& config = options.config;
  const EnginePlace place = engine_place(options.variables);
  const std::vector<std::string> names = node_names(config);
  check_tasks(config, names, place);
  EngineNetwork network(config, place);
  const NodePlace node = place_of_rank(config, place.rank);
  ChildSpec spec = program_of_node(options, *node.role);

  const ExchangedRun run = exchange(options, names, place, network);
  const FileDescriptor secret = pipe_with(run.secret.bytes());
  const FileDescriptor keys = network.encrypts() ? descriptor_with(run.keys) : FileDescriptor();
  Variables& variables = spec.environment;
  variables = place_variables(config, run.cluster_id, names, {place.rank, node.role->name, node.index});
  variables["TROUPE_SEED"] = run.seed;
  variables["TROUPE_ADDRESS"] = network.address(run.cluster_id, names[place.rank], run.seed);
  variables["TROUPE_SECRET_FD"] = fmt::format("{}", inherited(secret));
  if (keys.is_open()) variables["TROUPE_KEYS_FD"] = fmt::format("{}", inherited(keys));
  if (network.reservation().is_open()) (void)inherited(network.reservation());
  become_with(std::move(spec), options, *node.role, place.tasks_here);
}

[[noreturn]] void become_member(NodeCommandOptions& options) {
  const KeyFileNode node = key_file_node(options.config, options.keys);
  ChildSpec spec = program_of_node(options, *node.place.role);
  spec.environment = variables_of(options.config, node);
  become_with(std::move(spec), options, *node.place.role, 1);
}

}  // namespace

void become_node(NodeCommandOptions options) {
  if (getpid() == 1) leave_first_process();
  options.keys.any() ? become_member(options) : become_task(options);
}

namespace detail {

std::filesystem::path jobs_directory(const std::filesystem::path& given, const Variables& variables) {
  if (!given.empty()) return given;
  const auto value_of = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::filesystem::path() : std::filesystem::path(found->second);
  };
  const std::filesystem::path cache = value_of("XDG_CACHE_HOME");
  const std::filesystem::path home = value_of("HOME");
  if (!cache.is_absolute() && !home.is_absolute()) {
    throw EngineError("HOME is not set: --job-dir says in which directory tasks exchange their keys");
  }
  return (cache.is_absolute() ? cache : home / ".cache") / "troupe" / "jobs";
}

}  // namespace detail

}  // namespace troupe
