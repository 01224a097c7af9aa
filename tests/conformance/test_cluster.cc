#include "tests/conformance/test_cluster.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <thread>

#include "actors/core/node_core.h"
#include "actors/membership/membership.h"
#include "node/local_cluster.h"
#include "node/log.h"
#include "tests/conformance/all_functions.h"
#include "tests/support/share_nothing.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{10};

TimePoint in(Duration time) { return std::chrono::steady_clock::now() + time; }

std::vector<NodeName> with_trainer(std::vector<NodeName> others) {
  others.insert(others.begin(), "trainer");
  return others;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, Backend backend) {
  switch (backend) {
    case Backend::local: return out << "local";
    case Backend::ipc: return out << "ipc";
    case Backend::tcp: return out << "tcp";
    case Backend::keys: return out << "keys";
    case Backend::hosts: return out << "hosts";
  }
  return out;
}

Backend backend_of_this_run() {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  const std::string_view name = suite.argc > 1 ? suite.argv[1] : "local";
  if (name == "ipc") return Backend::ipc;
  if (name == "tcp") return Backend::tcp;
  if (name == "keys") return Backend::keys;
  if (name == "hosts") return Backend::hosts;
  if (name == "local") return Backend::local;
  throw std::invalid_argument(fmt::format("no backend \"{}\": local, ipc, tcp, keys or hosts", name));
}

struct TestCluster::Nodes {
  virtual ~Nodes() = default;
  virtual Node& trainer() = 0;
  virtual void kill(std::string_view name) = 0;
  virtual NodeProcess& process(std::string_view) {
    throw std::logic_error("the nodes of this cluster are no processes");
  }
  virtual void restart(const NodeName&) { throw std::logic_error("the nodes of this cluster are no processes"); }
};

/// Each node serves on a thread of its own, as it would in a process of its own.
struct TestCluster::LocalNodes final : Nodes {
  LocalNodes(const std::vector<NodeName>& names, PoolOptions pool, Leaks leaks)
      : cluster(names, functions_of("p1"),
                {.pool = pool, .functions = {{"trainer", functions_of("trainer")}}, .wrap_link = {}, .leaks = leaks}) {
    for (const NodeName& name : names) {
      if (name != "trainer") serving.emplace_back([&node = cluster.node(name)] { serve(node); });
    }
  }
  ~LocalNodes() override {
    const ShutdownReport report = cluster.node("trainer").shutdown(kPatience);
    BOOST_CHECK_MESSAGE(report.clean(), fmt::format("shutdown waited for {}", fmt::join(report.waited_for, "; ")));
  }
  static void serve(Node& node) {
    try {
      node.serve();
    } catch (const RemoteError& error) {
      if (error.code() != ErrorCode::shutting_down) throw;  // the node was killed
    }
  }
  Node& trainer() override { return cluster.node("trainer"); }
  void kill(std::string_view name) override { cluster.kill(name); }

  LocalCluster cluster;
  std::vector<std::jthread> serving;  // last member, so its threads end first
};

/// Over unix sockets the world's size is known at the start and all nodes wait for each other. Over TCP the trainer
/// starts first, on a port that the system chose, and the others join in any order.
struct TestCluster::ProcessNodes final : Nodes {
  ProcessNodes(ProcessPlan plan, Backend backend) : others(std::move(plan.others)) {
    NodeOptions& options = plan.trainer;
    options.name = "trainer";
    options.cluster_id = "conformance";
    options.secret = secret;
    if (backend == Backend::keys || backend == Backend::hosts) make_keys(options);
    if (backend == Backend::hosts) {
      share_nothing(options);
      for (NodeProcessOptions& other : others) other.shares = false;
    }
    if (backend == Backend::ipc) {
      world_size = static_cast<std::uint32_t>(others.size() + 1);
      seed = options.bind = fmt::format("ipc://@troupe-conformance-{}-{:016x}", getpid(), random_number());
      spawn_all();
    }
    options.world_size = world_size;
    node.emplace(Node::join(std::move(options), functions_of("trainer")));
    if (backend != Backend::ipc) {
      seed = node->address();
      spawn_all();
    }
    await_all(others.size() + 1);
  }
  ~ProcessNodes() override {
    const ShutdownReport report = node->shutdown(kPatience);
    BOOST_CHECK_MESSAGE(report.clean(), fmt::format("shutdown waited for {}", fmt::join(report.waited_for, "; ")));
    for (auto& [name, process] : processes) {
      const auto status = process->wait(kPatience);
      BOOST_CHECK_MESSAGE(status == "exit 0", fmt::format("{} ended with {}", name, status));
    }
  }

  void make_keys(NodeOptions& trainer) {
    std::vector<NodeName> names{trainer.name};  // the seed
    for (const NodeProcessOptions& other : others) names.push_back(other.name);
    const std::vector<KeyRing> rings = make_run_keys(names);
    trainer.keys = rings.front();
    for (std::size_t i = 0; i < others.size(); ++i) others[i].keys = rings[i + 1];
  }
  static std::uint64_t random_number() {
    std::uint64_t number = 0;
    const ClusterSecret secret = ClusterSecret::random();
    std::memcpy(&number, secret.bytes().data(), sizeof number);
    return number;
  }
  void spawn_all() {
    for (const NodeProcessOptions& options : others) spawn(options);
  }
  void spawn(NodeProcessOptions options) {
    options.seed = seed;
    options.world_size = world_size;
    processes[options.name] = std::make_unique<NodeProcess>(options, secret);
  }
  void await_all(std::size_t count) {
    if (const auto error = node->core().membership().wait_for_members(count, in(20s))) throw RemoteError(*error);
    for (const auto& [name, process] : processes) node->rpc_sync(name, &await_world, count);
  }

  Node& trainer() override { return *node; }
  NodeProcess& process(std::string_view name) override { return *processes.find(name)->second; }
  void kill(std::string_view name) override {
    process(name).kill();
    processes.erase(processes.find(name));
  }
  void restart(const NodeName& name) override {
    const auto life = [&] {
      const auto peer = node->core().membership().find(name);
      return peer ? peer->incarnation : Incarnation{};
    };
    const Incarnation before = life();  // empty if its end was already noticed
    spawn(*std::ranges::find(others, name, &NodeProcessOptions::name));
    const TimePoint due = in(kPatience);
    while ((life() == before || life() == Incarnation{}) && std::chrono::steady_clock::now() < due)
      std::this_thread::yield();
    await_all(processes.size() + 1);
  }

  std::vector<NodeProcessOptions> others;
  const ClusterSecret secret = ClusterSecret::random();
  std::uint32_t world_size = 0;
  std::string seed;
  std::map<NodeName, std::unique_ptr<NodeProcess>, std::less<>> processes;
  std::optional<Node> node;
};

TestCluster::TestCluster(std::vector<NodeName> others, PoolOptions pool, Backend backend, Leaks leaks,
                         std::string log_level)
    : others_(std::move(others)), log_level_(std::move(log_level)) {
  if (!log_level_.empty()) log_to_stderr(log_level_);
  if (backend == Backend::local) {
    nodes_ = std::make_unique<LocalNodes>(with_trainer(others_), pool, leaks);
  } else {
    ProcessPlan plan;
    for (const NodeName& name : others_) plan.others.push_back({.name = name, .pool = pool, .log_level = log_level_});
    plan.trainer.pool = pool;
    plan.trainer.leaks = leaks;
    nodes_ = std::make_unique<ProcessNodes>(std::move(plan), backend);
  }
}

TestCluster::TestCluster(ProcessPlan plan) {
  for (const NodeProcessOptions& other : plan.others) others_.push_back(other.name);
  nodes_ = std::make_unique<ProcessNodes>(std::move(plan), Backend::tcp);
}

TestCluster::~TestCluster() {
  nodes_.reset();
  if (!log_level_.empty()) log_to_stderr("info");
}

Node& TestCluster::trainer() { return nodes_->trainer(); }

void TestCluster::kill(std::string_view name) {
  nodes_->kill(name);
  std::erase(others_, name);
}

void TestCluster::signal(std::string_view name, int signal) { nodes_->process(name).send(signal); }

const NodeProcess& TestCluster::process(std::string_view name) { return nodes_->process(name); }

void TestCluster::restart(const NodeName& name) {
  nodes_->restart(name);
  others_.push_back(name);
}

Counts TestCluster::counts(std::string_view name) {
  if (name == "trainer") {
    const DebugInfo here = trainer().debug_info();
    return {here.pending_calls, here.served_calls, here.owners, trainer().counts().handles, here.forks, here.contexts};
  }
  Counts there = trainer().rpc_sync(name, &counts_here);
  --there.served_calls;
  return there;
}

void TestCluster::await_calls(std::string_view name, std::uint64_t calls) {
  await(name, [calls](const Counts& counts) { return counts.served_calls == calls; });
}

void TestCluster::expect_settled() {
  for (const NodeName& name : with_trainer(others_)) {
    await(name, [](const Counts& counts) { return counts == Counts{}; });
  }
}

void TestCluster::await(std::string_view name, const std::function<bool(const Counts&)>& holds) {
  const TimePoint due = in(5s);
  Counts last = counts(name);
  while (!holds(last) && std::chrono::steady_clock::now() < due) {
    std::this_thread::yield();
    last = counts(name);
  }
  BOOST_CHECK_MESSAGE(
      holds(last), fmt::format("{} still has {} requests, {} calls, {} values, {} handles, {} forks, {} contexts", name,
                               last.pending_requests, last.served_calls, last.owned_values, last.handles, last.forks,
                               last.contexts));
}

namespace {
std::unique_ptr<TestCluster> shared_cluster;  // set between SharedCluster's constructor and destructor
}  // namespace

SharedCluster::SharedCluster() {
  shared_cluster = std::make_unique<TestCluster>(std::vector<NodeName>{"p1", "p2", "p3", "p4"});
}
SharedCluster::~SharedCluster() { shared_cluster.reset(); }

OnSharedCluster::OnSharedCluster() : cluster(*shared_cluster), trainer(cluster.trainer()) {}
OnSharedCluster::~OnSharedCluster() { cluster.expect_settled(); }

}  // namespace troupe::testing

namespace troupe {
std::ostream& boost_test_print_type(std::ostream& out, ErrorCode code) { return out << name_of(code); }
std::ostream& boost_test_print_type(std::ostream& out, Execution execution) { return out << name_of(execution); }
}  // namespace troupe
