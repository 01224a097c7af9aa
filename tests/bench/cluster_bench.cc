// Measures how long many nodes on this host take to start and to end, and the CPU that they use while idle. One JSON
// line each:
//   {"name": "cluster/start/ipc/64", "unit": "s", "median": 2.41, "p99": 2.6, "n": 5}
// memory: nodes of one process; ipc: a process each; keys: a process each, over encrypted TCP. "start" ends when every
// node knows every other. "all_cpu" is the CPU time of all processes but the first, from start to end. "idle" is the
// number of cores that they use together while no call runs. Each node is this program again. `--quick` starts 16 nodes
// once and does not measure "idle".
#include "tests/bench/bench.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "actors/membership/membership.h"
#include "node/local_cluster.h"

namespace troupe::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};

void await_world(Scope& scope, std::uint64_t nodes) {
  const TimePoint due = SteadyClock::now() + kPatience;
  if (const auto error = scope.state().node->membership().wait_for_members(nodes, due)) throw RemoteError(*error);
}

FunctionRegistry functions() { return {{"await_world", &await_world}}; }

/// Returns the user and system time of all child processes that have ended, in seconds.
double cpu_of_the_ended() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Samples of several runs, which are printed together.
class Figures {
 public:
  void add(const std::string& name, const std::string& unit, double value) {
    Figure& figure = figures_[name];
    figure.unit = unit;
    figure.samples.push_back(value);
  }
  void print() const {
    for (const auto& [name, figure] : figures_) bench::print(name, figure.unit, figure.samples);
  }

 private:
  struct Figure {
    std::string unit;
    std::vector<double> samples;
  };
  std::map<std::string, Figure> figures_;
};

std::vector<NodeName> names_of(std::size_t nodes) {
  std::vector<NodeName> names;
  for (std::size_t i = 0; i < nodes; ++i) names.push_back(fmt::format("n{}", i));
  return names;
}

void one_process(std::size_t nodes, Figures& figures) {
  auto begin = SteadyClock::now();
  auto cluster = std::make_unique<LocalCluster>(names_of(nodes), functions());
  figures.add(fmt::format("cluster/start/memory/{}", nodes), "s", seconds_since(begin));
  begin = SteadyClock::now();
  cluster.reset();
  figures.add(fmt::format("cluster/shutdown/memory/{}", nodes), "s", seconds_since(begin));
}

/// Runs the first node in this process, and this program again for each other node. `network` is "ipc" or "keys".
void process_each(const std::string& network, std::size_t nodes, int run, Effort effort,
                  const detail::ProcessGuard& guard, Figures& figures) {
  const auto name = [&](std::string_view what) { return fmt::format("cluster/{}/{}/{}", what, network, nodes); };
  const std::vector<NodeName> names = names_of(nodes);
  const bool has_keys = network == "keys";
  const std::vector<KeyRing> rings = has_keys ? make_run_keys(names) : std::vector<KeyRing>{};
  NodeOptions options = first_node(names.front(), has_keys ? "tcp" : network, run);
  if (has_keys) {  // as between hosts
    options.keys = rings.front();
    options.shared_memory_max = 0;
    options.rings = false;
  }
  const double used_before = cpu_of_the_ended();
  auto begin = SteadyClock::now();
  Node node = Node::join(options, functions());
  std::vector<std::unique_ptr<detail::ChildProcess>> children;
  for (std::size_t rank = 1; rank < nodes; ++rank) {
    auto spec = other_node(options, node.address(), names, rank);
    spec.environment.insert_or_assign("TROUPE__CLUSTER__JOIN_TIMEOUT", fmt::format("{}s", kPatience.count()));
    if (has_keys) {
      spec.keys = rings[rank];
      spec.environment.insert_or_assign("TROUPE__NODE__SHARED_MEMORY_MAX", "0B");
      spec.environment.insert_or_assign("TROUPE__NODE__RINGS", "false");
    }
    children.push_back(std::make_unique<detail::ChildProcess>(spec, options.secret.bytes(), guard));
  }
  node.wait_for_members(nodes, kPatience);
  static_cast<void>(node.group().call_all(node, &await_world, nodes));
  figures.add(name("start"), "s", seconds_since(begin));

  if (effort == Effort::full) {
    std::vector<pid_t> processes;
    for (const auto& child : children) processes.push_back(child->pid());
    figures.add(name("idle"), "cores", idle_cores(processes));
  }

  begin = SteadyClock::now();
  if (const auto report = node.shutdown(kPatience); !report.clean()) {
    throw std::runtime_error(fmt::format("shutdown waited for {}", fmt::join(report.waited_for, "; ")));
  }
  for (const auto& child : children) {
    siginfo_t end{};
    waitid(P_PID, static_cast<id_t>(child->pid()), &end, WEXITED | WNOWAIT);
    if (end.si_code != CLD_EXITED || end.si_status != 0) throw std::runtime_error("a node did not end cleanly");
    static_cast<void>(child->try_end());
  }
  figures.add(name("shutdown"), "s", seconds_since(begin));
  figures.add(name("all_cpu"), "s", cpu_of_the_ended() - used_before);
}

void measure(Effort effort, const detail::ProcessGuard& guard) {
  const bool quick = effort == Effort::quick;
  Figures figures;
  for (int run = 0; run < (quick ? 1 : 5); ++run) {
    one_process(quick ? 16 : 64, figures);
    process_each("ipc", quick ? 16 : 64, run, effort, guard, figures);
    for (const std::size_t nodes : quick ? std::vector<std::size_t>{16} : std::vector<std::size_t>{64, 128})
      process_each("keys", nodes, run, effort, guard, figures);
  }
  figures.print();
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  return troupe::bench::run(argc, argv, troupe::bench::functions(), &troupe::bench::measure);
}
