// How fast calls are between two processes on this host. Prints one JSON line per figure:
//   {"name": "rpc/identity/none/ipc", "unit": "us", "median": 61.2, "p99": 110.4, "n": 2000}
// The server is this program again, in a process of its own. `--quick` runs a tenth of the repetitions.
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/task.h"
#include "autograd/ops.h"
#include "node/child_process.h"
#include "node/node.h"
#include "node/process_guard.h"
#include "tensor/create.h"

namespace {

using namespace troupe;
using SteadyClock = std::chrono::steady_clock;

void nothing() {}
Tensor identity(const Tensor& x) { return x; }
Variable scaled(const Variable& x) { return x * 2.0; }

/// Calls itself on `other` and back, so many times.
void there_and_back(Scope& scope, const NodeName& other, std::int32_t times) {
  if (times > 0) scope.rpc_sync(other, &there_and_back, scope.node_name(), times - 1);
}
Task<void> there_and_back_task(Scope& scope, NodeName other, std::int32_t times) {
  if (times > 0) co_await scope.rpc_async(other, &there_and_back_task, scope.node_name(), times - 1);
}

Tensor fetched(Scope& scope, const RRef<Tensor>& rref) { return rref.to_here(scope); }

/// Calls `nothing` on `server`, `window` at a time.
void call_often(Scope& scope, const NodeName& server, std::uint64_t count, std::uint64_t window) {
  std::deque<Future<void>> under_way;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (under_way.size() == window) {
      under_way.front().get();
      under_way.pop_front();
    }
    under_way.push_back(scope.rpc_async(server, &nothing));
  }
  for (const auto& call : under_way) call.get();
}

FunctionRegistry functions() {
  return {{"nothing", &nothing},
          {"identity", &identity},
          {"scaled", &scaled},
          {"fetched", &fetched},
          {"call_often", &call_often},
          {"there_and_back", &there_and_back},
          {"there_and_back_task", &there_and_back_task}};
}

void print(const std::string& name, const std::string& unit, std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto at = [&](double share) {
    return samples[std::min(samples.size() - 1, static_cast<std::size_t>(share * static_cast<double>(samples.size())))];
  };
  fmt::print("{{\"name\": \"{}\", \"unit\": \"{}\", \"median\": {:.4g}, \"p99\": {:.4g}, \"n\": {}}}\n", name, unit, at(0.5),
             at(0.99), samples.size());
  std::fflush(stdout);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = SteadyClock::now();
  work();
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

/// Microseconds of `count` runs of `work`, one by one, after some that do not count.
std::vector<double> latencies(std::size_t count, const std::function<void()>& work) {
  for (std::size_t i = 0; i < count / 10 + 1; ++i) work();
  std::vector<double> samples;
  for (std::size_t i = 0; i < count; ++i) samples.push_back(1e6 * seconds_of(work));
  return samples;
}

/// Calls per second with `window` calls under way, in each of `rounds` rounds of `count` calls.
std::vector<double> rates(Node& node, std::size_t window, std::size_t rounds, std::size_t count) {
  std::vector<double> samples;
  for (std::size_t round = 0; round <= rounds; ++round) {
    const double seconds = seconds_of([&] { call_often(node, "server", count, window); });
    if (round > 0) samples.push_back(static_cast<double>(count) / seconds);
  }
  return samples;
}

void chain(Node& node, std::size_t length) {
  DistContext context(node);
  const Variable x(ones({2}), RequiresGrad::yes);
  Variable y = x;
  for (std::size_t i = 0; i < length; ++i) y = context.rpc_sync("server", &scaled, y);
  backward(context, sum(y));
}

/// User + system time of a process so far, in seconds, and its resident memory in MiB.
struct Usage {
  double cpu_s = 0;
  double resident_mib = 0;
};

Usage usage_of(pid_t pid) {
  const std::filesystem::path proc = fmt::format("/proc/{}", pid);
  std::string word;
  std::ifstream stat(proc / "stat");
  std::vector<std::string> fields;
  while (stat >> word) fields.push_back(word);
  std::ifstream statm(proc / "statm");
  long pages = 0;
  statm >> pages >> pages;
  const double ticks = std::stod(fields.at(13)) + std::stod(fields.at(14));
  return {ticks / static_cast<double>(sysconf(_SC_CLK_TCK)), static_cast<double>(pages * sysconf(_SC_PAGESIZE)) / (1 << 20)};
}

struct Bench {
  std::filesystem::path program;
  std::string transport;  // "ipc" or "tcp"
  std::size_t divisor = 1;
  const detail::ProcessGuard& guard;
  int serial = 0;

  [[nodiscard]] NodeOptions client_options() {
    NodeOptions options;
    options.name = "client";
    options.cluster_id = fmt::format("bench{}.{}", getpid(), serial++);
    options.bind = transport == "ipc" ? "ipc://@troupe-" + options.cluster_id : "tcp://127.0.0.1:*";
    options.world_size = 0;
    return options;
  }

  /// The process of `others[place]`.
  [[nodiscard]] detail::ChildSpec node(const std::vector<NodeName>& others, std::size_t place, const Node& client,
                                       const NodeOptions& options) const {
    const NodeName& name = others[place];
    detail::ChildSpec spec{program, {"--serve"}, process_variables(), {}};
    spec.environment.insert_or_assign("TROUPE_SEED", client.address());
    spec.environment.insert_or_assign("TROUPE_CLUSTER", "bench");
    spec.environment.insert_or_assign("TROUPE_CLUSTER_ID", options.cluster_id);
    spec.environment.insert_or_assign("TROUPE_NODE", name);
    spec.environment.insert_or_assign("TROUPE_RANK", std::to_string(place + 1));
    spec.environment.insert_or_assign("TROUPE_WORLD", fmt::format("client,{}", fmt::join(others, ",")));
    spec.environment.insert_or_assign("TROUPE_ADDRESS", transport == "ipc" ? options.bind + "-" + name : options.bind);
    return spec;
  }

  /// Starts this node, "client", and the others; gives client and the process of the first other to `work`; ends them.
  void with_cluster(const std::vector<NodeName>& others, const std::function<void(Node&, pid_t)>& work) {
    const NodeOptions options = client_options();
    Node client = Node::join(options, functions());
    std::vector<std::unique_ptr<detail::ChildProcess>> children;
    for (std::size_t i = 0; i < others.size(); ++i) {
      children.push_back(std::make_unique<detail::ChildProcess>(node(others, i, client, options), options.secret.bytes(), guard));
    }
    wait_for(client, 1 + others.size());
    work(client, children.front()->pid());
    client.shutdown();
  }

  static void wait_for(Node& client, std::size_t nodes) {
    if (const auto error = client.wait_for_members(nodes, std::chrono::seconds(10))) throw RemoteError(*error);
  }

  void start() {
    std::vector<double> samples;
    for (std::size_t i = 0; i < std::max<std::size_t>(10 / divisor, 3); ++i) {
      const NodeOptions options = client_options();
      Node client = Node::join(options, functions());
      const auto spec = node({"server"}, 0, client, options);
      const auto begin = SteadyClock::now();
      const detail::ChildProcess child(spec, options.secret.bytes(), guard);
      wait_for(client, 2);
      client.rpc_sync("server", &nothing);
      samples.push_back(1e3 * std::chrono::duration<double>(SteadyClock::now() - begin).count());
      client.shutdown();
    }
    print("start/spawn_to_ready", "ms", samples);
  }

  void idle() {
    with_cluster({"server"}, [](Node& client, pid_t server) {
      client.rpc_sync("server", &nothing);
      std::vector<double> cores;
      std::vector<double> resident;
      for (int i = 0; i < 3; ++i) {
        const Usage before = usage_of(server);
        const double seconds = seconds_of([] { std::this_thread::sleep_for(std::chrono::seconds(2)); });
        const Usage after = usage_of(server);
        cores.push_back((after.cpu_s - before.cpu_s) / seconds);
        resident.push_back(after.resident_mib);
      }
      print("idle/rss", "MiB", resident);
      print("idle/cpu", "cores", cores);
    });
  }

  void calls() {
    with_cluster({"server"}, [this](Node& client, pid_t) {
      const auto name = [this](std::string_view what) { return fmt::format("{}/{}", what, transport); };
      const Tensor small = ones({1});
      const Tensor large = ones({1 << 20});
      print(name("rpc/identity/none"), "us", latencies(5000 / divisor, [&] { client.rpc_sync("server", &nothing); }));
      print(name("rpc/identity/4B"), "us", latencies(5000 / divisor, [&] { client.rpc_sync("server", &identity, small); }));
      print(name("rpc/identity/4MB"), "us", latencies(200 / divisor, [&] { client.rpc_sync("server", &identity, large); }));
      for (const std::size_t window : {1U, 16U, 256U}) {
        print(name(fmt::format("rpc/rate/{}", window)), "calls/s", rates(client, window, 5, 10000 / divisor));
      }
      if (transport != "ipc") return;
      print(name("rref/create_fetch"), "us", latencies(2000 / divisor, [&] { client.remote("server", &identity, small).to_here(client); }));
      print(name("rpc/nested/100"), "us", latencies(100 / divisor, [&] { client.rpc_sync("server", &there_and_back, "client", 99); }));
      print(name("rpc/nested_task/100"), "us",
            latencies(100 / divisor, [&] { client.rpc_sync("server", &there_and_back_task, "client", 99); }));
      print(name("autograd/chain/1"), "us", latencies(1000 / divisor, [&] { chain(client, 1); }));
      print(name("autograd/chain/16"), "us", latencies(200 / divisor, [&] { chain(client, 16); }));
    });
  }

  /// What takes more than two nodes.
  void more_nodes() {
    with_cluster({"server", "third"}, [this](Node& client, pid_t) {
      const Tensor small = ones({1});
      print("rref/fork_fetch/ipc", "us", latencies(2000 / divisor, [&] {
              client.rpc_sync("third", &fetched, client.remote("server", &identity, small));
            }));
    });
    const std::vector<NodeName> clients{"client1", "client2", "client3"};
    std::vector<NodeName> nodes{"server"};
    nodes.insert(nodes.end(), clients.begin(), clients.end());
    with_cluster(nodes, [&](Node& client, pid_t) {
      const std::uint64_t count = 10000 / divisor;
      std::vector<double> samples;
      for (int round = 0; round <= 5; ++round) {
        const double seconds = seconds_of([&] {
          std::vector<Future<void>> all;
          for (const NodeName& name : clients) all.push_back(client.rpc_async(name, &call_often, "server", count, 16U));
          for (const auto& one : all) one.get();
        });
        if (round > 0) samples.push_back(static_cast<double>(clients.size() * count) / seconds);
      }
      print("rpc/clients/3/ipc", "calls/s", samples);
    });
  }
};

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
    const std::size_t divisor = has("--quick") ? 10 : 1;
    const auto program = std::filesystem::canonical("/proc/self/exe");
    for (const char* transport : {"ipc", "tcp"}) Bench{program, transport, divisor, guard}.calls();
    Bench bench{program, "ipc", divisor, guard};
    bench.more_nodes();
    bench.start();
    bench.idle();
  } catch (const std::exception& error) {
    fmt::print(stderr, "rpc_bench: {}\n", error.what());
    return 1;
  }
}
