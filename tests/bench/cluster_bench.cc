// How long many nodes on this host take to start and to end, and what they cost while nobody calls. One JSON line each:
//   {"name": "cluster/start/ipc/64", "unit": "s", "median": 2.41, "n": 5}
// "start" ends when every node knows every other, "all_cpu" is what all processes together use from start to end without the
// first, "idle" the cores that they use together while nobody calls. Each node is this program again. `--quick` starts 16,
// once.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/membership.h"
#include "node/child_process.h"
#include "node/local_cluster.h"
#include "node/node.h"
#include "node/process_guard.h"

namespace {

using namespace troupe;
using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

void await_world(Scope& scope, std::uint64_t nodes) {
  const TimePoint due = SteadyClock::now() + kPatience;
  if (const auto error = scope.state().node->membership().wait_for_members(nodes, due)) throw RemoteError(*error);
}

FunctionRegistry functions() { return {{"await_world", &await_world}}; }

double seconds_since(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// User and system time of all processes of ours that have ended, in seconds.
double cpu_of_the_ended() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// The same of one that runs.
double cpu_of(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::vector<std::string> fields;
  for (std::string word; stat >> word;) fields.push_back(word);
  return (std::stod(fields.at(13)) + std::stod(fields.at(14))) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

class Figures {
 public:
  void add(const std::string& name, const std::string& unit, double value) {
    const auto found = std::find_if(figures_.begin(), figures_.end(), [&](const Figure& figure) { return figure.name == name; });
    if (found != figures_.end()) return found->samples.push_back(value);
    figures_.push_back({name, unit, {value}});
  }
  void print() {
    for (Figure& figure : figures_) {
      std::sort(figure.samples.begin(), figure.samples.end());
      fmt::print("{{\"name\": \"{}\", \"unit\": \"{}\", \"median\": {:.4g}, \"n\": {}}}\n", figure.name, figure.unit,
                 figure.samples[figure.samples.size() / 2], figure.samples.size());
    }
  }

 private:
  struct Figure {
    std::string name;
    std::string unit;
    std::vector<double> samples;
  };
  std::vector<Figure> figures_;
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

/// The first node is this process, the others are this program again.
void process_each(std::size_t nodes, int run, const detail::ProcessGuard& guard, Figures& figures) {
  const auto name = [nodes](std::string_view what) { return fmt::format("cluster/{}/ipc/{}", what, nodes); };
  const std::vector<NodeName> names = names_of(nodes);
  NodeOptions options;
  options.name = names.front();
  options.cluster_id = fmt::format("bench{}.{}", getpid(), run);
  options.bind = "ipc://@troupe-" + options.cluster_id;
  options.world_size = static_cast<std::uint32_t>(nodes);
  options.join_deadline = kPatience;
  const double used_before = cpu_of_the_ended();
  auto begin = SteadyClock::now();
  std::vector<std::unique_ptr<detail::ChildProcess>> children;
  for (std::size_t rank = 1; rank < nodes; ++rank) {
    detail::ChildSpec spec{std::filesystem::canonical("/proc/self/exe"), {"--serve"}, process_variables(), {}};
    const auto set = [&spec](const char* variable, std::string value) { spec.environment.insert_or_assign(variable, std::move(value)); };
    set("TROUPE_SEED", options.bind);
    set("TROUPE_CLUSTER", "bench");
    set("TROUPE_CLUSTER_ID", options.cluster_id);
    set("TROUPE_NODE", names[rank]);
    set("TROUPE_RANK", std::to_string(rank));
    set("TROUPE_WORLD", fmt::format("{}", fmt::join(names, ",")));
    set("TROUPE_ADDRESS", fmt::format("{}-{}", options.bind, rank));
    set("TROUPE__CLUSTER__JOIN_TIMEOUT", "60s");
    children.push_back(std::make_unique<detail::ChildProcess>(spec, options.secret.bytes(), guard));
  }
  Node node = Node::join(options, functions());
  static_cast<void>(node.group().call_all(node, &await_world, nodes));
  figures.add(name("start"), "s", seconds_since(begin));

  const auto used = [&children] {
    double seconds = 0;
    for (const auto& child : children) seconds += cpu_of(child->pid());
    return seconds;
  };
  const double used_at_start = used();
  begin = SteadyClock::now();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  figures.add(name("idle"), "cores", (used() - used_at_start) / seconds_since(begin));

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

int serve() {
  Node node = Node::join(NodeOptions::from_environment(), functions());
  node.serve();
  return node.stop().clean() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto has = [&](const char* flag) { return std::find(arguments.begin(), arguments.end(), flag) != arguments.end(); };
  try {
    if (has("--serve")) return serve();
    const detail::ProcessGuard guard;  // before any thread
    const std::size_t nodes = has("--quick") ? 16 : 64;
    Figures figures;
    for (int run = 0; run < (has("--quick") ? 1 : 5); ++run) {
      one_process(nodes, figures);
      process_each(nodes, run, guard, figures);
    }
    figures.print();
  } catch (const std::exception& error) {
    fmt::print(stderr, "cluster_bench: {}\n", error.what());
    return 1;
  }
}
