// The end of a node: together with others, alone, with calls in progress.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "autograd/ops.h"
#include "optim/sgd.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"
#include "tests/support/output_of.h"
#include "tests/support/temporary_directory.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(shutdown)

using namespace std::chrono_literals;
using boost::unit_test::label;

BOOST_AUTO_TEST_CASE(calls_after_shutdown_fail_and_say_why, *label("T-08")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  BOOST_TEST(trainer.rpc_sync("p1", &square, 2) == 4);
  BOOST_TEST(trainer.shutdown().clean());
  for (const char* to : {"p1", "trainer"}) {
    const Error error = error_of([&] { return trainer.rpc_sync(to, &square, 2); });
    BOOST_TEST(error.code == ErrorCode::shutting_down);
    BOOST_TEST(error.message == "node trainer has shut down");
    BOOST_TEST(error.execution == Execution::never);
  }
  const RRef<std::int64_t> never = trainer.remote("p1", &square, 2);
  BOOST_TEST(error_of([&] { return never.to_here(trainer); }).code == ErrorCode::shutting_down);
}

BOOST_AUTO_TEST_CASE(references_used_after_shutdown_fail_and_are_dropped_silently, *label("O-24")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const RRef<Tensor> there = trainer.remote("p1", &add, ones({1}), 1.0);
  const RRef<Tensor> mine(trainer, ones({1}));
  static_cast<void>(there.to_here(trainer));
  trainer.shutdown();
  for (const RRef<Tensor>& rref : {there, mine}) {
    BOOST_TEST(error_of([&] { return rref.to_here(trainer); }).code == ErrorCode::shutting_down);
    BOOST_TEST(error_of([&] { return trainer.rpc_sync("p1", &rref_value, rref); }).code == ErrorCode::shutting_down);
  }
}

BOOST_AUTO_TEST_CASE(optimizer_of_a_stopped_node_takes_no_step) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const std::vector<Leaf> parameters{trainer.remote("p1", &make_leaf, 3, 1.0)};
  const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 1.0}, parameters);
  const DistContext context(trainer);
  trainer.shutdown();
  const Error error = error_of([&] { optimizer.step(context); });
  BOOST_TEST(error.code == ErrorCode::shutting_down);
  BOOST_TEST((error.execution == Execution::never));
}

BOOST_AUTO_TEST_CASE(second_shutdown_returns_at_once, *label("fault-F23")) {
  TestCluster cluster({"p1"});
  BOOST_TEST(cluster.trainer().shutdown().clean());
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(cluster.trainer().shutdown().clean());
  BOOST_TEST(cluster.trainer().stop().clean());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 1s));
}

BOOST_AUTO_TEST_CASE(two_threads_shut_down_at_once_and_both_wait_for_a_call, *label("fault-F23")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const Future<std::int32_t> call = trainer.rpc_async("p1", &answer_after, 100);
  ShutdownReport other;
  std::thread second([&] { other = trainer.shutdown(); });
  BOOST_TEST(trainer.shutdown().clean());
  BOOST_TEST(call.ready());
  second.join();
  BOOST_TEST(other.clean());
  BOOST_TEST(call.get() == 100);
}

BOOST_AUTO_TEST_CASE(stop_ends_a_shutdown_that_waits_for_a_call, *label("fault-F23")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const Future<bool> call = trainer.rpc_async("p1", &wait_until_stopped);
  std::thread waiting([&] { trainer.shutdown(); });
  for (std::int64_t i = 0; i < 100; ++i) BOOST_TEST(trainer.rpc_sync("p1", &square, i) == i * i);  // it waits meanwhile
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(trainer.stop().clean());
  waiting.join();
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 2s));
  BOOST_TEST(error_of([&] { return call.get(); }).code == ErrorCode::shutting_down);
}

BOOST_AUTO_TEST_CASE(shutdown_waits_for_all_that_was_begun, *label("S-06") * label("S-04")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  std::vector<Future<std::int64_t>> futures;
  for (std::int64_t i = 0; i < 30; ++i) futures.push_back(trainer.rpc_async("p1", &square_on_and_one, "p2", i));
  for (std::int64_t i = 0; i < 30; ++i) futures.push_back(trainer.rpc_async("p2", &square_on_and_one, "p1", i));
  BOOST_TEST(trainer.shutdown().clean());
  for (std::size_t i = 0; i < 60; ++i) {
    const auto x = static_cast<std::int64_t>(i % 30);
    BOOST_TEST(futures[i].get() == x * x + 1);
  }
}

BOOST_AUTO_TEST_CASE(shutdown_waits_for_callbacks_and_what_they_begin, *label("S-06")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const Future<std::int64_t> end = trainer.rpc_async("p1", &answer_after, 40).then([&trainer](std::int32_t) {
    return trainer.rpc_sync("p1", &square, 9);
  });
  BOOST_TEST(trainer.shutdown().clean());
  BOOST_TEST(end.get() == 81);
}

BOOST_AUTO_TEST_CASE(shutdown_waits_for_values_that_are_being_made) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const Tensor mine = zeros({1});
  static_cast<void>(trainer.remote("p1", &fill_later, RRef<Tensor>(trainer, mine), 5.0, 40));
  BOOST_TEST(trainer.shutdown().clean());
  BOOST_TEST(mine.item() == 5.0);
}

BOOST_AUTO_TEST_CASE(shutdown_names_a_busy_function_at_its_deadline, *label("S-05") * label("fault-F21")) {
  std::weak_ptr<detail::NodeCore> core;
  {
    TestCluster cluster({"p1"});
    Node& trainer = cluster.trainer();
    core = trainer.core().weak_from_this();
    const Future<std::int32_t> busy = trainer.rpc_async("trainer", &compute_for, 1000);
    const auto begin = std::chrono::steady_clock::now();
    const ShutdownReport report = trainer.shutdown(100ms);
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 900ms));
    BOOST_TEST(!report.clean());
    const std::string text = fmt::format("{}", fmt::join(report.waited_for, "\n"));
    BOOST_TEST(text.find("not all have finished; still up: p1") != std::string::npos, text);
    BOOST_TEST(text.find("rpc compute_for to trainer, 0.") != std::string::npos, text);
    BOOST_TEST(text.find("trainer: rpc compute_for for trainer has run for 0.") != std::string::npos, text);
    BOOST_TEST(error_of([&] { return busy.get(); }).code == ErrorCode::shutting_down);
  }
  // The abandoned thread owns its data and ends on its own.
  const auto due = std::chrono::steady_clock::now() + 5s;
  while (!core.expired() && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(core.expired());
}

BOOST_AUTO_TEST_CASE(shutdown_names_a_function_whose_future_nobody_completes, *label("S-05")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const RRef<Gate> gate(trainer, Gate(2));
  const Scope patient = trainer.with({.deadline = Deadline::while_peer_lives()});
  const Future<std::int64_t> call = gate.rpc_async(patient, &Gate::arrive);
  BOOST_TEST(gate.rpc_sync(trainer, &Gate::arrived) == 1);
  std::vector<std::string> waited_for;
  const std::string logged = output_of([&] { waited_for = trainer.shutdown(100ms).waited_for; });
  const auto served = std::ranges::find_if(
      waited_for, [](const std::string& line) { return line.starts_with("rpc Gate::arrive for trainer, "); });
  BOOST_TEST_REQUIRE((served != waited_for.end()), logged);
  BOOST_TEST(logged.find("shuts down before the others: " + waited_for[0] + "; ") != std::string::npos, logged);
  BOOST_TEST(logged.find(*served) != std::string::npos, logged);
  BOOST_TEST(error_of([&] { return call.get(); }).code == ErrorCode::shutting_down);
}

BOOST_AUTO_TEST_CASE(shutdown_does_not_wait_for_a_future_for_which_nobody_waits, *label("S-05")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const RRef<Gate> gate(trainer, Gate(2));
  const Future<std::int64_t> call = gate.rpc_async(trainer, &Gate::arrive);
  BOOST_TEST(gate.rpc_sync(trainer, &Gate::arrived) == 1);
  BOOST_TEST(call.cancel());
  BOOST_TEST(trainer.shutdown(10s).clean());
}

BOOST_AUTO_TEST_CASE(node_that_stops_by_itself_is_told_apart_from_one_that_died, *label("S-07")) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() / "ends";
  {
    TestCluster cluster({"p1", "p2", "p3"});
    Node& trainer = cluster.trainer();
    trainer.rpc_sync("p1", &note_end_of_call_to, "p3", file);
    cluster.await_calls("p3", 1);
    cluster.kill("p3");
    trainer.rpc_sync("p1", &note_end_of_call_to, "trainer", file);
    cluster.await_calls("trainer", 1);
    const Future<bool> pending = trainer.rpc_async("p1", &wait_until_stopped);
    const auto begin = std::chrono::steady_clock::now();
    BOOST_TEST(trainer.stop().clean());
    BOOST_TEST((std::chrono::steady_clock::now() - begin < 1s));
    BOOST_TEST(error_of([&] { return pending.get(); }).code == ErrorCode::shutting_down);
  }  // the other nodes continue, notice, and end by themselves
  std::ifstream ends(file);
  std::multiset<std::string> seen;
  for (std::string line; std::getline(ends, line);) seen.insert(line);
  BOOST_TEST((seen == std::multiset<std::string>{"peer_down p3", "shutting_down trainer"}),
             fmt::format("{}", fmt::join(seen, ", ")));
}

BOOST_AUTO_TEST_CASE(node_without_calls_stops_at_once, *label("S-07")) {
  TestCluster cluster({"p1", "p2"});
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(cluster.trainer().stop().clean());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 1s));
}

BOOST_AUTO_TEST_CASE(shutdown_does_not_wait_for_the_dead, *label("fault-F22")) {
  TestCluster cluster({"p1", "p2"});
  cluster.kill("p1");
  const auto begin = std::chrono::steady_clock::now();
  BOOST_TEST(cluster.trainer().shutdown().clean());
  BOOST_TEST((std::chrono::steady_clock::now() - begin < 5s));
}

BOOST_AUTO_TEST_CASE(each_of_four_lives_does_calls_references_gradients_and_steps, *label("I-07")) {
  for (int life = 0; life < 4; ++life) {
    TestCluster cluster({"p1", "p2"});
    Node& trainer = cluster.trainer();
    {
      BOOST_TEST(trainer.rpc_sync("p1", &square_on_and_one, "p2", life) == life * life + 1);
      const RRef<Tensor> sum = trainer.remote("p1", &add, ones({1}), 1.0);
      BOOST_TEST(trainer.rpc_sync("p2", &rref_value, sum).item() == 2.0);
      const RRef<Variable> w = trainer.remote("p1", &echo_variable, Variable(full({2}, 3.0), RequiresGrad::yes));
      const DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.5}, {w});
      for (const double expected : {2.0, 1.0}) {  // 3 - 0.5 * 2, and once more
        const Variable x(full({2}, 2.0), RequiresGrad::yes);
        DistContext context(trainer);
        backward(context, troupe::sum(context.rpc_sync("p1", &times, x, w)));
        BOOST_TEST(same_bytes(context.grad(x), full({2}, expected + 1.0)));
        optimizer.step(context);
        BOOST_TEST(same_bytes(w.to_here(trainer).value(), full({2}, expected)));
      }
    }
    cluster.expect_settled();
    BOOST_TEST(trainer.shutdown().clean());
  }
}

// The cluster's destructor checks that every node shuts down by itself, in time and without complaint.
BOOST_AUTO_TEST_CASE(references_in_a_cycle_keep_their_values_and_no_node_from_shutting_down, *label("O-23")) {
  TestCluster cluster({"p1", "p2"});
  Node& trainer = cluster.trainer();
  {
    const auto a = trainer.remote("p1", constructor<Holder>);
    const auto b = trainer.remote("p2", constructor<Holder>);
    a.rpc_sync(trainer, &Holder::hold, b);
    a.rpc_sync(trainer, &Holder::hold, a);
    b.rpc_sync(trainer, &Holder::hold, a);
    BOOST_TEST(a.rpc_sync(trainer, &Holder::count) == 2);
    const auto here = trainer.remote("trainer", constructor<Holder>);
    here.rpc_sync(trainer, &Holder::hold, here);
  }
  BOOST_TEST(cluster.counts("p1").owned_values == 1U);
  BOOST_TEST(cluster.counts("p2").owned_values == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
