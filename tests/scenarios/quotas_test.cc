// Quotas of a peer on a node: the first request above a quota is refused, at once and for good, and leaves nothing
// behind.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/references/references.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "node/sim/faulty_link.h"
#include "tensor/create.h"
#include "tests/support/error_of.h"
#include "tests/support/hold.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(quotas)

namespace {

using namespace std::chrono_literals;
using boost::unit_test::label;

using Number = std::int64_t;

Number next(Number x) { return x + 1; }
Number next_of(const Number& x) { return x + 1; }
Number fetch_and_add(Scope& scope, const RRef<Number>& x, Number y) { return x.to_here(scope) + y; }
RRef<Number> own(Scope& scope, Number x) { return {scope, x}; }
Variable twice(const Variable& x) { return mul(x, 2.0); }
Variable make_weight() { return Variable(ones({2}), RequiresGrad::yes); }

/// References that ps1 keeps for other nodes.
std::mutex shelf_mutex;
std::vector<RRef<Number>> shelf;  // guarded by shelf_mutex

void put(const RRef<Number>& x) {
  const std::lock_guard lock(shelf_mutex);
  shelf.push_back(x);
}
Number fetch(Scope& scope, std::int64_t index) {
  RRef<Number> x;
  {
    const std::lock_guard lock(shelf_mutex);
    x = shelf.at(static_cast<std::size_t>(index));
  }
  return x.to_here(scope);
}
void clear() {
  const std::lock_guard lock(shelf_mutex);
  shelf.clear();
}

FunctionRegistry functions() {
  return {{"next", &next},
          {"next_of", &next_of},
          {"fetch_and_add", &fetch_and_add},
          {"own", &own},
          {"twice", &twice},
          {"hold", &hold},
          {"put", &put},
          {"fetch", &fetch},
          {"clear", &clear},
          {"make_weight", &make_weight}};
}

template <class Condition>
bool comes_true(Condition holds) {
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (!holds() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  return holds();
}

struct Cluster {
  explicit Cluster(PeerLimits limits, std::vector<sim::FaultRule> faults = {}, PoolOptions pool = {})
      : nodes({"trainer", "ps0", "ps1", "ps2"}, functions(), options(limits, std::move(faults), pool)),
        trainer(nodes.node("trainer")) {}

  static LocalClusterOptions options(PeerLimits limits, std::vector<sim::FaultRule> faults, PoolOptions pool) {
    LocalClusterOptions made = sim::FaultRules(std::move(faults)).options();
    made.peer_limits = limits;
    made.pool = pool;
    return made;
  }

  /// Returns the holdings of `peer` on `node`.
  [[nodiscard]] PeerHoldings of(const NodeName& peer, const NodeName& node) {
    const auto peers = nodes.node(node).debug_info().peers;
    return peers.contains(peer) ? peers.at(peer) : PeerHoldings{};
  }

  /// Returns whether all holdings on all nodes are gone within 10 s.
  [[nodiscard]] bool all_empty() {
    return comes_true([this] {
      for (const char* name : {"trainer", "ps0", "ps1", "ps2"}) {
        Node& node = nodes.node(name);
        const detail::References& references = node.core().references();
        const bool empty = references.owned_values() == 0 && references.handles() == 0 && references.forks() == 0 &&
                           node.counts().contexts == 0 && node.debug_info().peers.empty();
        if (!empty) return false;
      }
      return true;
    });
  }

  LocalCluster nodes;
  Node& trainer;
};

}  // namespace

BOOST_AUTO_TEST_CASE(value_beyond_what_its_creator_may_have_is_refused_and_others_create_on, *label("fault-F46")) {
  Cluster cluster({.owners_max = 2});
  {
    const auto a = cluster.trainer.remote("ps0", &next, 1);
    auto b = a.remote(cluster.trainer, &next_of);
    BOOST_TEST(b.to_here(cluster.trainer) == 3);
    BOOST_TEST(cluster.of("trainer", "ps0").owners == 2U);
    const std::string full = "trainer has 2 values on ps0, at most 2 (peer.owners_max)";
    for (const auto& refused : {cluster.trainer.remote("ps0", &next, 5), a.remote(cluster.trainer, &next_of)}) {
      const Error error = error_of([&] { return refused.to_here(cluster.trainer); });
      BOOST_TEST((error.code == ErrorCode::resource_exhausted));
      BOOST_TEST((error.execution == Execution::never));
      BOOST_TEST(error.message == full);
    }
    BOOST_TEST(cluster.trainer.rpc_sync("ps0", &next, 5) == 6);
    BOOST_TEST(cluster.nodes.node("ps1").remote("ps0", &next, 5).to_here(cluster.nodes.node("ps1")) == 6);
    BOOST_TEST(cluster.nodes.node("ps0").remote("ps0", &next, 5).to_here(cluster.nodes.node("ps0")) == 6);
    b = {};
    BOOST_TEST(comes_true([&] { return cluster.of("trainer", "ps0").owners == 1; }));
    BOOST_TEST(cluster.trainer.remote("ps0", &next, 5).to_here(cluster.trainer) == 6);
  }
  BOOST_TEST(cluster.all_empty());
}

BOOST_AUTO_TEST_CASE(handle_of_a_value_that_is_refused_fails_wherever_it_went, *label("fault-F46")) {
  // The handle reaches ps1, and messages of ps1 reach ps0, before the creating call.
  Cluster cluster({.forks_max = 1}, {{.message = "RemoteCall", .delay = 100ms}});
  {
    const auto kept = cluster.trainer.remote("ps0", &next, 1);
    BOOST_TEST(kept.to_here(cluster.trainer) == 2);
    const auto refused = cluster.trainer.remote("ps0", &next, 2);
    const auto sum = cluster.trainer.rpc_async("ps1", &fetch_and_add, refused, 10);
    const Error error = error_of([&] { return sum.get(); });
    BOOST_TEST((error.code == ErrorCode::remote_exception));
    BOOST_TEST(
        error.cause.find("trainer has 1 handles of values on ps0, at most 1 (peer.forks_max)") != std::string::npos,
        error.cause);
    BOOST_TEST((error_of([&] { return refused.to_here(cluster.trainer); }).code == ErrorCode::resource_exhausted));
  }
  BOOST_TEST(cluster.all_empty());
}

BOOST_AUTO_TEST_CASE(handle_beyond_what_a_peer_may_hold_is_revoked_there_and_nowhere_else, *label("fault-F46")) {
  Cluster cluster({.forks_max = 2});
  Node& ps0 = cluster.nodes.node("ps0");
  Node& ps2 = cluster.nodes.node("ps2");
  {
    const auto a = cluster.trainer.remote("ps0", &next, 1);
    const auto b = cluster.trainer.remote("ps0", &next, 2);
    const auto c = ps2.remote("ps0", &next, 3);
    cluster.trainer.rpc_sync("ps1", &put, a);
    cluster.trainer.rpc_sync("ps1", &put, b);
    BOOST_TEST(comes_true([&] { return cluster.of("ps1", "ps0").forks == 2; }));
    // From a user: ps1 may use it before it learns that its quota is exhausted.
    ps2.rpc_sync("ps1", &put, c);
    Error error;
    BOOST_TEST(comes_true([&] {
      try {
        static_cast<void>(ps2.rpc_sync("ps1", &fetch, 2));
      } catch (const RemoteError& refused) {
        error = refused.error();
      }
      return !error.cause.empty();
    }));
    BOOST_TEST(error.cause.find("ps1 has 2 handles of values on ps0, at most 2 (peer.forks_max)") != std::string::npos,
               error.cause);
    BOOST_TEST(c.to_here(ps2) == 4);
    BOOST_TEST(ps2.rpc_sync("ps1", &fetch, 1) == 3);
    // From the owner, in an argument and in a result.
    const RRef<Number> d(ps0, 7);
    const Error in_call = error_of([&] { return ps0.rpc_sync("ps1", &fetch_and_add, d, 1); });
    BOOST_TEST((in_call.code == ErrorCode::resource_exhausted));
    BOOST_TEST((in_call.execution == Execution::never));
    const Error in_result = error_of([&] { return cluster.trainer.rpc_sync("ps0", &own, 5); });
    BOOST_TEST((in_result.code == ErrorCode::resource_exhausted));
    BOOST_TEST((in_result.execution == Execution::yes));
    // The quota has room again.
    cluster.trainer.rpc_sync("ps1", &clear);
    BOOST_TEST(comes_true([&] { return cluster.of("ps1", "ps0").forks == 0; }));
    BOOST_TEST(ps0.rpc_sync("ps1", &fetch_and_add, d, 1) == 8);
  }
  BOOST_TEST(cluster.all_empty());
}

BOOST_AUTO_TEST_CASE(context_beyond_what_a_peer_may_bring_is_refused_and_those_that_are_there_go_on,
                     *label("fault-F46")) {
  Cluster cluster({.contexts_max = 1});
  const Variable x(full({2}, 5.0), RequiresGrad::yes);
  {
    DistContext first(cluster.trainer);
    const Variable y = first.rpc_sync("ps0", &twice, x);
    BOOST_TEST(cluster.of("trainer", "ps0").contexts == 1U);
    {
      DistContext second(cluster.trainer);
      for (int i = 0; i < 2; ++i) {
        const Error error = error_of([&] { return second.rpc_sync("ps0", &twice, x).value(); });
        BOOST_TEST((error.code == ErrorCode::resource_exhausted));
        BOOST_TEST((error.execution == Execution::never));
        BOOST_TEST(error.message == "trainer has 1 autograd contexts on ps0, at most 1 (peer.contexts_max)");
      }
      const auto refused = second.remote("ps0", &next, 1);
      BOOST_TEST((error_of([&] { return refused.to_here(cluster.trainer); }).code == ErrorCode::resource_exhausted));
      // The context continues without ps0.
      backward(second, sum(second.rpc_sync("ps1", &twice, x)));
      BOOST_TEST(same_bytes(second.grad(x), full({2}, 2.0)));
    }
    backward(first, sum(y));
    BOOST_TEST(same_bytes(first.grad(x), full({2}, 2.0)));
  }
  BOOST_TEST(cluster.all_empty());
  DistContext third(cluster.trainer);
  backward(third, sum(third.rpc_sync("ps0", &twice, x)));
  BOOST_TEST(same_bytes(third.grad(x), full({2}, 2.0)));
}

BOOST_AUTO_TEST_CASE(shard_beyond_what_a_peer_may_make_is_refused_until_one_has_ended, *label("fault-F46")) {
  Cluster cluster({.shards_max = 1});
  {
    const RRef<Variable> w = cluster.trainer.remote("ps0", &make_weight);
    const auto make = [&](Node& node) { return DistOptimizer(node, optim::SgdOptions{.lr = 0.1}, {w}); };
    {
      const DistOptimizer first = make(cluster.trainer);
      const Error error = error_of([&] { static_cast<void>(make(cluster.trainer)); });
      BOOST_TEST((error.code == ErrorCode::resource_exhausted));
      BOOST_TEST(error.message == "trainer has 1 shards of optimizers on ps0, at most 1 (peer.shards_max)");
      BOOST_TEST(cluster.of("trainer", "ps0").shards == 1U);
    }
    BOOST_TEST(comes_true([&] { return cluster.of("trainer", "ps0").shards == 0; }));
    static_cast<void>(make(cluster.trainer));
  }
  BOOST_TEST(cluster.all_empty());
}

BOOST_AUTO_TEST_CASE(calls_that_wait_for_credit_are_active_and_shown_and_those_beyond_the_bound_are_refused,
                     *label("fault-F06")) {
  // One function computes at a time: it has begun, 64 calls wait behind it, further calls wait at their callers.
  Cluster cluster({.waiting_calls_max = 20, .calls_max = 64}, {}, {.threads = 1});
  const Scope patient = cluster.trainer.with({.deadline = Deadline::while_peer_lives()});
  std::vector<Future<void>> calls;
  for (int i = 0; i < 1 + 64 + 10; ++i) calls.push_back(patient.rpc_async("ps0", &hold));
  BOOST_TEST(comes_true([&] { return cluster.of("trainer", "ps0").queued_calls == 64; }));
  BOOST_TEST(comes_true([&] { return cluster.of("ps0", "trainer").waiting_calls == 10; }));
  BOOST_TEST(cluster.of("ps0", "trainer").waiting_bytes > 0U);
  const DebugInfo info = cluster.trainer.debug_info();
  BOOST_TEST(info.waiting_calls == 10U);
  BOOST_TEST(info.pending_calls == 75U);
  BOOST_TEST(cluster.trainer.counts().pending_requests == 75U);  // the count that members compare before they leave

  for (int i = 0; i < 10; ++i) calls.push_back(patient.rpc_async("ps0", &hold));
  const Error error = error_of([&] { return patient.rpc_sync("ps0", &next, 1); });
  BOOST_TEST((error.code == ErrorCode::resource_exhausted));
  BOOST_TEST((error.execution == Execution::never));
  BOOST_TEST(error.message.find("20 calls of ") == 0U, error.message);
  BOOST_TEST(error.message.find("at most 20 of 1073741824 (peer.waiting_calls_max, peer.waiting_bytes_max)") !=
                 std::string::npos,
             error.message);
  BOOST_TEST(cluster.trainer.rpc_sync("ps1", &next, 1) == 2);

  for (const auto& call : calls) call.cancel();
  BOOST_TEST(cluster.all_empty());
  BOOST_TEST(cluster.trainer.debug_info().waiting_calls == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
