#include "node/engines/engine_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::size_t kTasksMax = 65'536;
constexpr std::size_t kIdMax = 100;
constexpr std::string_view kMpiPrefix = "OMPI_COMM_WORLD_";

/// The variables of one engine, each checked when it is taken.
class EngineVariables {
 public:
  EngineVariables(const Variables& all, Engine engine) : all_(all), engine_(engine) {}

  /// Returns an empty text if the variable is missing.
  std::string_view optional(std::string_view name) const {
    const auto found = all_.find(name);
    return found == all_.end() ? std::string_view() : std::string_view(found->second);
  }

  std::string_view required(std::string_view name) const {
    const std::string_view value = optional(name);
    if (!value.empty()) return value;
    const bool is_slurm = engine_ == Engine::slurm;
    throw EngineError(
        fmt::format("{} is missing: this process is in {}, but it is no task of a step: start it with {}, or use "
                    "`troupe up`",
                    name, is_slurm ? "a job of Slurm" : "a run of Open MPI", starter_of(engine_)));
  }

  std::size_t number(std::string_view name, std::size_t min, std::size_t max) const {
    const std::string_view text = required(name);
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < min || value > max) {
      throw EngineError(
          fmt::format("{}=\"{}\": expected an integer in {}..{}", name, text.substr(0, kIdMax), min, max));
    }
    return value;
  }

  /// Returns a part of a file's name; empty if the variable is missing.
  std::string_view id(std::string_view name) const {
    const std::string_view text = optional(name);
    const auto is_plain = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view(".-_@+").find(c) != std::string_view::npos;
    };
    if (text.size() > kIdMax || !std::all_of(text.begin(), text.end(), is_plain)) {
      throw EngineError(
          fmt::format("{}=\"{}\": expected at most {} of A-Z a-z 0-9 . - _ @ +", name, text.substr(0, kIdMax), kIdMax));
    }
    return text;
  }

 private:
  const Variables& all_;
  Engine engine_;
};

EnginePlace slurm_place(const Variables& variables) {
  const EngineVariables task(variables, Engine::slurm);
  EnginePlace place;
  place.engine = Engine::slurm;
  const std::size_t job = task.number("SLURM_JOB_ID", 0, ~std::size_t{0});
  const std::size_t step = task.number("SLURM_STEP_ID", 0, ~std::size_t{0});
  place.tasks = task.number("SLURM_STEP_NUM_TASKS", 1, kTasksMax);
  place.rank = task.number("SLURM_PROCID", 0, place.tasks - 1);
  place.several_hosts = task.number("SLURM_STEP_NUM_NODES", 1, kTasksMax) > 1 && place.tasks > 1;
  const std::string_view here = task.optional("SLURM_GTIDS");  // "0,4": the ranks of this host
  place.tasks_here = here.empty() ? place.tasks : 1 + static_cast<std::size_t>(std::ranges::count(here, ','));
  const std::string_view cluster = task.id("SLURM_CLUSTER_NAME");
  place.job = fmt::format("slurm-{}{}{}.{}", cluster, cluster.empty() ? "" : "-", job, step);
  // A job that Slurm starts anew has the same number.
  if (const auto restart = task.id("SLURM_RESTART_COUNT"); !restart.empty()) place.job += fmt::format(".r{}", restart);
  if (const auto starter = task.optional("SLURM_LAUNCH_NODE_IPADDR"); !starter.empty()) {
    place.starters.emplace_back(starter);
  }
  return place;
}

/// Returns the hosts in "192.0.2.2,10.0.0.1:40341" or "[fd00::2],[fd00::3]:45843", without brackets.
std::vector<std::string> hosts_before_port(std::string_view list) {
  list = list.substr(0, std::min(list.rfind(':'), list.size()));
  std::vector<std::string> hosts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string_view host = list.substr(begin, end - begin);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    if (!host.empty()) hosts.emplace_back(host);
    begin = end + 1;
  }
  return hosts;
}

/// Returns the addresses in "810483712.0;tcp://192.0.2.2,10.0.0.1:40341;tcp6://[fd00::2]:45843".
std::vector<std::string> hosts_of_uri(std::string_view uri) {
  std::vector<std::string> hosts;
  while (!uri.empty()) {
    const std::string_view part = uri.substr(0, uri.find(';'));
    uri.remove_prefix(std::min(part.size() + 1, uri.size()));
    for (const std::string_view scheme : {"tcp://", "tcp6://"}) {
      if (!part.starts_with(scheme)) continue;
      const std::vector<std::string> more = hosts_before_port(part.substr(scheme.size()));
      hosts.insert(hosts.end(), more.begin(), more.end());
    }
  }
  return hosts;
}

EnginePlace open_mpi_place(const Variables& variables) {
  const EngineVariables task(variables, Engine::open_mpi);
  EnginePlace place;
  place.engine = Engine::open_mpi;
  place.tasks = task.number("OMPI_COMM_WORLD_SIZE", 1, kTasksMax);
  place.rank = task.number("OMPI_COMM_WORLD_RANK", 0, place.tasks - 1);
  place.tasks_here = task.number("OMPI_COMM_WORLD_LOCAL_SIZE", 1, place.tasks);
  place.several_hosts = place.tasks_here < place.tasks;
  std::string_view run = task.id("PMIX_NAMESPACE");
  if (run.empty()) run = task.id("OMPI_MCA_ess_base_jobid");
  if (run.empty()) (void)task.required("PMIX_NAMESPACE");
  place.job = fmt::format("openmpi-{}", run);
  // Open MPI 4 numbers runs by 16 bits of a hash; these 128 bits are random.
  const std::string_view drawn = task.id("OMPI_MCA_orte_precondition_transports");
  if (!drawn.empty()) place.job += fmt::format("-{}", drawn);
  place.starters = hosts_of_uri(task.optional("OMPI_MCA_orte_hnp_uri"));
  return place;
}

}  // namespace

std::string_view starter_of(Engine engine) { return engine == Engine::slurm ? "srun" : "mpirun"; }

EnginePlace engine_place(const Variables& variables) {
  const auto first = variables.lower_bound(kMpiPrefix);
  if (first != variables.end() && first->first.starts_with(kMpiPrefix)) return open_mpi_place(variables);
  for (const char* name : {"SLURM_STEP_ID", "SLURM_PROCID", "SLURM_JOB_ID"}) {
    if (variables.contains(name)) return slurm_place(variables);
  }
  throw EngineError(
      "no engine has started this process: neither SLURM_STEP_ID nor OMPI_COMM_WORLD_RANK is set; start it with srun "
      "or mpirun, give it --keys, or use `troupe up`");
}

}  // namespace troupe::detail
