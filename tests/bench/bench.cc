#include "tests/bench/bench.h"

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>

namespace troupe::bench {

Usage usage_of(pid_t pid) {
  const std::filesystem::path proc = fmt::format("/proc/{}", pid);
  std::ifstream stat(proc / "stat");
  std::vector<std::string> fields;
  for (std::string word; stat >> word;) fields.push_back(word);
  std::ifstream statm(proc / "statm");
  long pages = 0;
  statm >> pages >> pages;
  const double ticks = std::stod(fields.at(13)) + std::stod(fields.at(14));
  return {ticks / static_cast<double>(sysconf(_SC_CLK_TCK)),
          static_cast<double>(pages * sysconf(_SC_PAGESIZE)) / (1 << 20)};
}

double idle_cores(const std::vector<pid_t>& processes) {
  const auto used = [&] {
    double seconds = 0;
    for (const pid_t pid : processes) seconds += usage_of(pid).cpu_s;
    return seconds;
  };
  const double before = used();
  const double watched = seconds_of([] { std::this_thread::sleep_for(std::chrono::seconds(2)); });
  return (used() - before) / watched;
}

NodeOptions first_node(const NodeName& name, const std::string& transport, int serial) {
  NodeOptions options;
  options.name = name;
  options.cluster_id = fmt::format("bench{}.{}", getpid(), serial);
  options.bind = transport == "ipc" ? "ipc://@troupe-" + options.cluster_id : "tcp://127.0.0.1:*";
  options.world_size = 0;
  // The other nodes read these variables themselves: a row can be measured without its fast paths.
  const Variables variables = process_variables();
  const auto is_on = [&](const std::string& variable) {
    const auto found = variables.find(variable);
    return found == variables.end() || found->second != "false";
  };
  options.rings = is_on("TROUPE__NODE__RINGS");
  options.spins = is_on("TROUPE__NODE__SPIN");
  if (transport != "ipc" && !is_on("TROUPE__NODE__STREAMS")) options.link_options["streams"] = "off";
  return options;
}

detail::ChildSpec other_node(const NodeOptions& first, const std::string& seed, const std::vector<NodeName>& names,
                             std::size_t rank) {
  detail::ChildSpec spec;
  spec.program = std::filesystem::canonical("/proc/self/exe");
  spec.arguments = {"--serve"};
  spec.environment = process_variables();
  const auto set = [&spec](const char* variable, std::string value) {
    spec.environment.insert_or_assign(variable, std::move(value));
  };
  set("TROUPE_SEED", seed);
  set("TROUPE_CLUSTER", "bench");
  set("TROUPE_CLUSTER_ID", first.cluster_id);
  set("TROUPE_NODE", names[rank]);
  set("TROUPE_RANK", std::to_string(rank));
  set("TROUPE_WORLD", fmt::format("{}", fmt::join(names, ",")));
  set("TROUPE_ADDRESS", first.bind.starts_with("ipc") ? fmt::format("{}-{}", first.bind, rank) : first.bind);
  return spec;
}

void with_nodes(const NodeOptions& first, const std::vector<NodeName>& nodes, const FunctionRegistry& functions,
                const detail::ProcessGuard& guard, const std::function<void(Node& node)>& work) {
  Node node = Node::join(first, functions);
  std::vector<std::unique_ptr<detail::ChildProcess>> others;
  for (std::size_t rank = 1; rank < nodes.size(); ++rank) {
    const auto spec = other_node(first, node.address(), nodes, rank);
    others.push_back(std::make_unique<detail::ChildProcess>(spec, first.secret.bytes(), guard));
  }
  node.wait_for_members(nodes.size(), std::chrono::seconds(30));
  work(node);
  node.shutdown(std::chrono::seconds(30));
}

int run(int argc, char** argv, const FunctionRegistry& functions,
        const std::function<void(Effort, const detail::ProcessGuard&)>& measure) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto has = [&](const char* flag) {
    return std::find(arguments.begin(), arguments.end(), flag) != arguments.end();
  };
  try {
    if (has("--serve")) {
      Node node = Node::join(NodeOptions::from_environment(), functions);
      node.serve();
      return node.stop().clean() ? 0 : 1;
    }
    const detail::ProcessGuard guard;  // before any thread
    measure(has("--quick") ? Effort::quick : Effort::full, guard);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", std::filesystem::path(argv[0]).filename().string(), error.what());
    return 1;
  }
}

}  // namespace troupe::bench
