#include "tests/bench/counts/workload.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/bench/bench.h"
#include "tests/bench/counts/counting_link.h"

namespace troupe::bench {
namespace {

constexpr std::chrono::seconds kPatience{60};  // below valgrind, starting takes seconds

void nothing() {}
Tensor identity(const Tensor& x) { return x; }
Variable scaled(const Variable& x) { return x * 2.0; }
Tensor fetched(Scope& scope, const RRef<Tensor>& rref) { return rref.to_here(scope); }

/// Runs so many operations on the given node.
using Operations = std::function<void(Node& node, std::uint64_t count)>;

Operations repeated(std::function<void(Node&)> operation) {
  return [operation = std::move(operation)](Node& node, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) operation(node);
  };
}

Operations calls_in_flight(std::size_t window) {
  return [window](Node& node, std::uint64_t count) {
    std::deque<Future<void>> under_way;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (under_way.size() == window) {
        under_way.front().get();
        under_way.pop_front();
      }
      under_way.push_back(node.rpc_async("peer1", &nothing));
    }
    for (const auto& call : under_way) call.get();
  };
}

Operations identities(std::int64_t floats) {
  return repeated([x = ones({floats})](Node& node) { static_cast<void>(node.rpc_sync("peer1", &identity, x)); });
}

Operations chains(int length) {
  return repeated([length](Node& node) {
    DistContext context(node);
    const Variable x(ones({2}), RequiresGrad::yes);
    Variable y = x;
    for (int i = 0; i < length; ++i) y = context.rpc_sync("peer1", &scaled, y);
    backward(context, sum(y));
  });
}

Operations forks() {
  return repeated([x = ones({1})](Node& node) {
    static_cast<void>(node.rpc_sync("peer2", &fetched, node.remote("peer1", &identity, x)));
  });
}

Operations operations_of(const std::string& name) {
  if (name == "none") return repeated([](Node& node) { node.rpc_sync("peer1", &nothing); });
  if (name == "none/16") return calls_in_flight(16);
  if (name == "none/256") return calls_in_flight(256);
  if (name == "4B") return identities(1);
  if (name == "4MB") return identities(1'000'000);
  if (name == "400MB") return identities(100'000'000);
  if (name == "chain1") return chains(1);
  if (name == "chain16") return chains(16);
  if (name == "fork_fetch") return forks();
  if (name == "idle") return [](Node&, std::uint64_t) {};
  throw std::invalid_argument("no operation " + name);
}

std::vector<NodeName> names_of(std::size_t peers) {
  std::vector<NodeName> names{"client"};
  for (std::size_t i = 1; i <= peers; ++i) names.push_back(fmt::format("peer{}", i));
  return names;
}

/// The nodes of a workload; this process is or holds the first one.
class Nodes {
 public:
  virtual ~Nodes() = default;
  [[nodiscard]] virtual Node& client() = 0;
  [[nodiscard]] virtual std::vector<pid_t> others() const { return {}; }
  [[nodiscard]] virtual std::int64_t messages() const { return -1; }
};

class NodesInMemory final : public Nodes {
 public:
  explicit NodesInMemory(std::size_t peers) : cluster_(names_of(peers), counted_functions(), options()) {}
  [[nodiscard]] Node& client() override { return cluster_.node("client"); }
  [[nodiscard]] std::int64_t messages() const override { return messages_.load(); }

 private:
  LocalClusterOptions options() {
    LocalClusterOptions options;
    options.wrap_link = [this](std::unique_ptr<Link> link) {
      return std::make_unique<CountingLink>(std::move(link), messages_);
    };
    return options;
  }

  std::atomic<std::int64_t> messages_{0};
  LocalCluster cluster_;
};

/// Nodes in processes of their own. Except for "idle", they are silent while they have no work: heartbeats would count
/// as part of the operations beside which they are sent.
class NodesInProcesses final : public Nodes {
 public:
  explicit NodesInProcesses(const Workload& work) {
    NodeOptions options = first_node("client", work.transport, 0);
    const bool silent = work.operation != "idle";
    options.spins = false;  // whether a look finds something depends on the load of the machine
    if (silent) options.liveness = {.heartbeat = kHeartbeat, .suspicion = kPatience, .lease = kLease};
    client_.emplace(Node::join(options, counted_functions()));
    const std::vector<NodeName> names = names_of(work.peers);
    for (std::size_t rank = 1; rank < names.size(); ++rank) {
      auto spec = other_node(options, client_->address(), names, rank);
      if (silent) {
        spec.environment.insert_or_assign("TROUPE__CLUSTER__HEARTBEAT", fmt::format("{}s", kHeartbeat.count()));
        spec.environment.insert_or_assign("TROUPE__CLUSTER__SUSPICION", fmt::format("{}s", kPatience.count()));
        spec.environment.insert_or_assign("TROUPE__CLUSTER__LEASE", fmt::format("{}s", kLease.count()));
      }
      spec.environment.insert_or_assign("TROUPE__NODE__SPIN", "false");
      spec.environment.insert_or_assign("TROUPE__CLUSTER__JOIN_TIMEOUT", fmt::format("{}s", kPatience.count()));
      children_.push_back(std::make_unique<detail::ChildProcess>(spec, options.secret.bytes(), guard_));
    }
    client_->wait_for_members(names.size(), kPatience);
  }

  /// Waits for the end of the other processes: valgrind writes its counts then.
  ~NodesInProcesses() override {
    client_->shutdown(kPatience);
    const auto due = SteadyClock::now() + kPatience;
    const auto all_ended = [this] {
      return std::ranges::all_of(children_, [](const auto& child) { return child->try_end().has_value(); });
    };
    while (!all_ended() && SteadyClock::now() < due) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  [[nodiscard]] Node& client() override { return *client_; }
  [[nodiscard]] std::vector<pid_t> others() const override {
    std::vector<pid_t> processes;
    for (const auto& child : children_) processes.push_back(child->pid());
    return processes;
  }

 private:
  static constexpr std::chrono::seconds kHeartbeat{10};
  static constexpr std::chrono::seconds kLease{600};

  detail::ProcessGuard guard_;  // before any thread
  std::optional<Node> client_;
  std::vector<std::unique_ptr<detail::ChildProcess>> children_;
};

std::unique_ptr<Nodes> start(const Workload& work) {
  if (work.transport == "memory") return std::make_unique<NodesInMemory>(work.peers);
  return std::make_unique<NodesInProcesses>(work);
}

void say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

FunctionRegistry counted_functions() {
  return {{"nothing", &nothing}, {"identity", &identity}, {"scaled", &scaled}, {"fetched", &fetched}};
}

int run_workload(const Workload& work) {
  std::string go;
  if (!std::getline(std::cin, go)) return 1;
  auto nodes = start(work);
  const Operations operations = operations_of(work.operation);
  std::string processes;
  for (const pid_t process : nodes->others()) processes += fmt::format("{} ", process);
  say(processes);
  for (std::uint64_t count = 0; std::cin >> count;) {
    operations(nodes->client(), count);
    say(std::to_string(nodes->messages()));
  }
  nodes.reset();
  say("ended");
  return 0;
}

}  // namespace troupe::bench
