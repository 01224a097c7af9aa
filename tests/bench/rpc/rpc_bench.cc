// Measures the speed of calls between two processes on this host. Prints one JSON line per figure:
//   {"name": "rpc/identity/none/ipc", "unit": "us", "median": 61.2, "p99": 110.4, "n": 2000}
// The server is this program again, in a process of its own. `--quick` runs a tenth of the repetitions and does not
// measure an idle server. `--rows` prints the rows that are compared with PyTorch's RPC; `--row <name>` makes one,
// prints "ready", reads lines "<iterations>" and answers each with the seconds that they took; side_by_side.py thus
// compares it with peer.py. `--floors` and `--floor <name>` do the same with floors. `--beside-floors` measures no
// other rows than those that have floors.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "actors/dist_autograd.h"
#include "actors/task.h"
#include "autograd/ops.h"
#include "node/gloo_collective.h"
#include "node/keys/key_ring.h"
#include "tensor/create.h"
#include "tests/bench/bench.h"
#include "tests/bench/rpc/floors/floors.h"
#include "tests/bench/rpc/floors/stream_floor.h"
#include "tests/bench/rpc/rows.h"

namespace troupe::bench {
namespace {

void nothing() {}
/// Computes for a second.
void compute_long() {
  const auto begin = SteadyClock::now();
  while (seconds_since(begin) < 1.0) continue;
}
Tensor identity(const Tensor& x) { return x; }
std::int64_t size_of(const Tensor& x) { return x.numel(); }
Variable scaled(const Variable& x) { return x * 2.0; }

/// Calls itself on `other` and back, `times` times.
void there_and_back(Scope& scope, const NodeName& other, std::int32_t times) {
  if (times > 0) scope.rpc_sync(other, &there_and_back, scope.node_name(), times - 1);
}
Task<void> there_and_back_task(Scope& scope, NodeName other, std::int32_t times) {
  if (times > 0) co_await scope.rpc_async(other, &there_and_back_task, scope.node_name(), times - 1);
}

/// Takes part in `count` sums of `floats` floats over `members`.
void sum_along(Scope& scope, const std::vector<NodeName>& members, std::int64_t floats, std::uint64_t count) {
  const auto collective = gloo_collective(scope, Group(members));
  const Tensor own = ones({floats});
  for (std::uint64_t i = 0; i < count; ++i) static_cast<void>(collective->all_reduce(scope, own));
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

FunctionRegistry all_functions() {
  return with_rpc_rows({{"nothing", &nothing},
                        {"compute_long", &compute_long},
                        {"identity", &identity},
                        {"size_of", &size_of},
                        {"scaled", &scaled},
                        {"sum_along", &sum_along},
                        {"fetched", &fetched},
                        {"call_often", &call_often},
                        {"there_and_back", &there_and_back},
                        {"there_and_back_task", &there_and_back_task}});
}

/// Returns the microseconds of `count` runs of `work`, one by one, after some uncounted runs.
std::vector<double> latencies(std::size_t count, const std::function<void()>& work) {
  for (std::size_t i = 0; i < count / 10; ++i) work();
  return times_of(count, work);
}

/// Returns the microseconds of `count` small calls while two calls with 64 MiB each are always in progress.
std::vector<double> beside_bulk(Node& node, std::size_t count) {
  const std::jthread bulk([&node](const std::stop_token& stop) {
    const Tensor large = ones({16 << 20});
    std::deque<Future<std::int64_t>> under_way;
    while (!stop.stop_requested()) {
      under_way.push_back(node.rpc_async("server", &size_of, large));
      if (under_way.size() < 2) continue;
      under_way.front().get();
      under_way.pop_front();
    }
    for (const auto& call : under_way) call.get();
  });
  return latencies(count, [&node] { node.rpc_sync("server", &nothing); });
}

/// Returns the microseconds of small calls: in each of `rounds`, the first `count` after a function of 1 s began.
std::vector<double> beside_long(Node& node, int rounds, int count) {
  node.rpc_sync("server", &nothing);
  std::vector<double> samples;
  for (int round = 0; round < rounds; ++round) {
    const Future<void> under_way = node.rpc_async("server", &compute_long);
    for (int i = 0; i < count; ++i) samples.push_back(1e6 * seconds_of([&node] { node.rpc_sync("server", &nothing); }));
    under_way.get();
  }
  return samples;
}

/// Returns the microseconds of `count` sums of `floats` floats over this node and the server.
std::vector<double> sums(Node& node, std::int64_t floats, std::uint64_t count) {
  const std::vector<NodeName> members{node.name(), "server"};
  const auto other =
      node.rpc_async("server", &sum_along, members, floats, count + count / 10 + 1);  // as `latencies` runs it
  const auto collective = gloo_collective(node, Group(members));
  const Tensor own = ones({floats});
  auto samples = latencies(count, [&] { static_cast<void>(collective->all_reduce(node, own)); });
  other.get();
  return samples;
}

/// Returns the calls per second with `window` calls in progress, in each of `rounds` rounds of `count` calls.
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

std::vector<double> in_microseconds(std::vector<double> seconds) {
  for (double& time : seconds) time *= 1e6;
  return seconds;
}

RpcRow row_of(std::string_view name) {
  for (RpcRow& row : rpc_rows()) {
    if (row.name == name) return std::move(row);
  }
  throw std::invalid_argument(fmt::format("no row {}", name));
}

struct Bench {
  // "ipc", "tcp", or tcp with keys: "keys_one_host", or "keys", as between hosts: all bytes travel, encrypted
  std::string transport;
  Effort effort;
  const detail::ProcessGuard& guard;
  std::size_t divisor = effort == Effort::quick ? 10 : 1;
  int serial = 0;

  [[nodiscard]] bool has_keys() const { return transport.starts_with("keys"); }
  [[nodiscard]] NodeOptions client_options() { return first_node("client", transport, serial++); }

  /// Starts this node, "client", and the others. Passes the client and the first other's process to `work`, then ends
  /// them.
  void with_cluster(const std::vector<NodeName>& others, const std::function<void(Node&, pid_t)>& work) {
    std::vector<NodeName> names{"client"};
    names.insert(names.end(), others.begin(), others.end());
    NodeOptions options = client_options();
    std::vector<KeyRing> rings;
    const bool shares_nothing = transport == "keys";
    if (has_keys()) {
      rings = make_run_keys(names);
      options.keys = rings.front();
    }
    if (shares_nothing) {
      options.shared_memory_max = 0;
      options.rings = false;
    }
    Node client = Node::join(options, all_functions());
    std::vector<std::unique_ptr<detail::ChildProcess>> children;
    for (std::size_t rank = 1; rank < names.size(); ++rank) {
      detail::ChildSpec spec = other_node(options, client.address(), names, rank);
      if (!rings.empty()) spec.keys = rings[rank];
      if (shares_nothing) {
        spec.environment.insert_or_assign("TROUPE__NODE__SHARED_MEMORY_MAX", "0B");
        spec.environment.insert_or_assign("TROUPE__NODE__RINGS", "false");
      }
      children.push_back(std::make_unique<detail::ChildProcess>(spec, options.secret.bytes(), guard));
    }
    wait_for(client, names.size());
    work(client, children.front()->pid());
    client.shutdown();
  }

  static void wait_for(Node& client, std::size_t nodes) { client.wait_for_members(nodes, std::chrono::seconds(10)); }

  void start() {
    std::vector<double> samples;
    for (std::size_t i = 0; i < std::max<std::size_t>(10 / divisor, 3); ++i) {
      const NodeOptions options = client_options();
      Node client = Node::join(options, all_functions());
      const auto spec = other_node(options, client.address(), {"client", "server"}, 1);
      const auto begin = SteadyClock::now();
      const detail::ChildProcess child(spec, options.secret.bytes(), guard);
      wait_for(client, 2);
      client.rpc_sync("server", &nothing);
      samples.push_back(1e3 * seconds_since(begin));
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
        cores.push_back(idle_cores({server}));
        resident.push_back(usage_of(server).resident_mib);
      }
      print("idle/rss", "MiB", resident);
      print("idle/cpu", "cores", cores);
    });
  }

  void calls() {
    with_cluster({"server"}, [this](Node& client, pid_t) {
      const auto name = [this](std::string_view what) { return fmt::format("{}/{}", what, transport); };
      const Tensor small = ones({1});
      print(name("rpc/identity/none"), "us", latencies(5000 / divisor, [&] { client.rpc_sync("server", &nothing); }));
      print(name("rpc/identity/4B"), "us",
            latencies(5000 / divisor, [&] { client.rpc_sync("server", &identity, small); }));
      sizes(client);
      for (const std::size_t window : {1U, 16U, 256U}) {
        print(name(fmt::format("rpc/rate/{}", window)), "calls/s", rates(client, window, 5, 10000 / divisor));
      }
      print(name("collective/all_reduce/4B/2"), "us", sums(client, 1, 2000 / divisor));
      print(name("collective/all_reduce/1MB/2"), "us", sums(client, 1 << 18, 200 / divisor));
      print(name("collective/all_reduce/16MB/2"), "us", sums(client, 1 << 22, 50 / divisor));
      print(name("rpc/beside_bulk/none"), "us", beside_bulk(client, 2000 / divisor));
      if (transport != "ipc") return;
      print(name("rpc/beside_long/none"), "us",
            effort == Effort::quick ? beside_long(client, 1, 20) : beside_long(client, 10, 200));
      print(name("rref/create_fetch"), "us",
            latencies(2000 / divisor, [&] { client.remote("server", &identity, small).to_here(client); }));
      print(name("rpc/nested/100"), "us",
            latencies(100 / divisor, [&] { client.rpc_sync("server", &there_and_back, "client", 99); }));
      print(name("rpc/nested_task/100"), "us",
            latencies(100 / divisor, [&] { client.rpc_sync("server", &there_and_back_task, "client", 99); }));
      print(name("autograd/chain/1"), "us", latencies(1000 / divisor, [&] { chain(client, 1); }));
      print(name("autograd/chain/16"), "us", latencies(200 / divisor, [&] { chain(client, 16); }));
    });
  }

  /// Measures tensors; where every byte of them travels, beside a program that sends as many.
  void sizes(Node& client) const {
    struct Size {
      std::string_view name;
      std::int64_t megabytes;
      std::size_t count;
    };
    for (const Size& size : {Size{"1MB", 1, 500}, Size{"4MB", 4, 200}, Size{"64MB", 64, 30}, Size{"400MB", 400, 10}}) {
      if (effort == Effort::quick && size.megabytes > 4) continue;
      const std::size_t count = size.count / divisor;
      const Tensor large = ones({size.megabytes << 18});
      print(fmt::format("rpc/identity/{}/{}", size.name, transport), "us",
            latencies(count, [&] { client.rpc_sync("server", &identity, large); }));
      if (transport != "tcp" && transport != "keys") continue;
      print(fmt::format("floor/identity/{}/{}", size.name, transport), "us",
            stream_floor(count, static_cast<std::size_t>(size.megabytes) << 20, has_keys()));
    }
  }

  void sizes_only() {
    with_cluster({"server"}, [this](Node& client, pid_t) { sizes(client); });
  }

  /// Measures calls that are made when they are due.
  void due() {
    with_cluster({"server"}, [this](Node& client, pid_t) {
      for (const RpcRow& row : rpc_rows()) {
        if (!row.name.starts_with("due/") || (effort == Effort::quick && row.name != "due/50%")) continue;
        print("rpc/" + row.name, "us",
              in_microseconds(row.make(client)(static_cast<std::int64_t>(20000 / divisor)).each));
      }
    });
  }

  /// Measures rows and their floors by turns.
  void rows_and_floors() {
    std::string measured;
    for (const Floor& floor : rpc_floors()) {
      const std::size_t count = floor.count / divisor;
      if (floor.row != measured) {
        with_cluster({"server"}, [&](Node& client, pid_t) {
          const Timing timing = row_of(floor.row).make(client)(static_cast<std::int64_t>(count));
          print("rpc/" + floor.row, "us", in_microseconds(timing.each));
        });
      }
      measured = floor.row;
      print("floor/" + floor.name, "us", floor.times(count));
    }
  }

  /// Measures calls that need more than two nodes.
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

/// Makes a row on the nodes that it needs, and answers until the end of standard input.
void serve_row(const std::string& name, const detail::ProcessGuard& guard) {
  const RpcRow row = row_of(name);
  with_nodes(first_node(row.nodes.front(), "ipc", 0), row.nodes, all_functions(), guard,
             [&](Node& node) { answer(row.make(node)); });
}

void serve_floor(std::string_view name) {
  for (const Floor& floor : rpc_floors()) {
    if (floor.name != name) continue;
    return answer([&floor](std::int64_t count) {
      std::vector<double> times = floor.times(static_cast<std::size_t>(count));
      for (double& time : times) time *= 1e-6;
      return Timing(std::move(times));
    });
  }
  throw std::invalid_argument(fmt::format("no floor {}", name));
}

void measure_beside_floors(Effort effort, const detail::ProcessGuard& guard) {
  Bench{"ipc", effort, guard}.rows_and_floors();
  for (const char* transport : {"tcp", "keys"}) Bench{transport, effort, guard}.sizes_only();
}

void measure(Effort effort, const detail::ProcessGuard& guard) {
  Bench bench{"ipc", effort, guard};
  bench.rows_and_floors();
  for (const char* transport : {"ipc", "tcp", "keys", "keys_one_host"}) Bench{transport, effort, guard}.calls();
  bench.due();
  bench.more_nodes();
  bench.start();
  if (effort == Effort::full) bench.idle();
}

}  // namespace
}  // namespace troupe::bench

int main(int argc, char** argv) {
  using namespace troupe::bench;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "--rows") {
    for (const RpcRow& row : rpc_rows()) fmt::print("{}\n", row.name);
    return 0;
  }
  if (!arguments.empty() && arguments[0] == "--floors") {
    for (const Floor& floor : rpc_floors()) fmt::print("{}\n", floor.name);
    return 0;
  }
  return run(argc, argv, all_functions(), [&](Effort effort, const troupe::detail::ProcessGuard& guard) {
    if (!arguments.empty() && arguments[0] == "--row") return serve_row(arguments.at(1), guard);
    if (!arguments.empty() && arguments[0] == "--floor") return serve_floor(arguments.at(1));
    if (std::ranges::count(arguments, "--beside-floors") > 0) return measure_beside_floors(effort, guard);
    measure(effort, guard);
  });
}
