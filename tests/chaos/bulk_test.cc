// Large calls and answers: they wait for each other, delay no other calls, and use bounded memory.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tests/chaos/byte_proxy.h"
#include "tests/chaos/capabilities.h"
#include "tests/chaos/network_namespace.h"
#include "tests/chaos/process_use.h"
#include "tests/conformance/load_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

BOOST_AUTO_TEST_SUITE(bulk, *boost::unit_test::label("chaos"))

using namespace std::chrono_literals;
using boost::unit_test::label;
using boost::unit_test::precondition;

constexpr std::size_t kMiB = 1 << 20;

/// Returns the number of floats in this many MiB.
constexpr std::int64_t floats_of(std::int64_t mib) { return (mib << 20) / 4; }

Tensor tensor_of(std::int64_t mib) { return zeros({floats_of(mib)}); }

/// Options of a trainer whose own address is behind `wire`.
NodeOptions trainer_behind(const ByteProxy& wire) {
  NodeOptions options;
  options.bind = wire.target();
  options.link_options["advertise"] = wire.address();
  return options;
}

/// Requires that the calls succeed; an error becomes the test's message.
template <class T>
std::vector<T> results_of(const std::vector<Future<T>>& futures) {
  std::vector<T> results;
  for (const Future<T>& future : futures) results.push_back(future.get());
  return results;
}

BOOST_AUTO_TEST_CASE(eight_calls_of_16_mb_at_once_all_succeed) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  const Tensor tensor = tensor_of(16);
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < 8; ++i) calls.push_back(cluster.trainer().rpc_async("p1", &count_elements, tensor));
  BOOST_TEST(std::ranges::count(results_of(calls), floats_of(16)) == 8);
}

BOOST_AUTO_TEST_CASE(empty_call_behind_one_of_100_mb_is_served) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  const Future<std::int64_t> large = cluster.trainer().rpc_async("p1", &count_elements, tensor_of(100));
  cluster.trainer().rpc_sync("p1", &nothing);
  BOOST_TEST(large.get() == floats_of(100));
}

BOOST_AUTO_TEST_CASE(nodes_agree_to_leave_while_answers_of_90_mb_are_under_way) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}, {.name = "p2"}}});
  std::vector<Future<Tensor>> answers;
  for (const char* name : {"p1", "p2", "p1", "p2"}) {
    answers.push_back(cluster.trainer().rpc_async(name, &filled, floats_of(90), 1.0));
  }
  BOOST_TEST(cluster.trainer().shutdown(30s).clean());
  for (const Future<Tensor>& answer : answers) BOOST_TEST(answer.get().numel() == floats_of(90));
}

BOOST_AUTO_TEST_CASE(small_call_overtakes_bulk_on_a_slow_wire) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .bind = wire.target(), .advertise = wire.address()}}});
  Node& trainer = cluster.trainer();
  wire.there().throttle(20'000'000);
  const Future<std::int64_t> large = trainer.rpc_async("p1", &count_elements, tensor_of(100));  // 5 s
  for (int i = 0; i < 20; ++i) BOOST_TEST(trainer.with({.deadline = 2s}).rpc_sync("p1", &square, i) == i * i);
  BOOST_TEST(!large.ready());
  wire.there().throttle(0);
  BOOST_TEST(large.get() == floats_of(100));
}

BOOST_AUTO_TEST_CASE(small_answer_overtakes_bulk_on_a_slow_wire) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}, .trainer = trainer_behind(wire)});
  Node& trainer = cluster.trainer();
  wire.there().throttle(20'000'000);
  const Future<Tensor> large = trainer.rpc_async("p1", &filled, floats_of(100), 1.0);  // 5 s
  for (int i = 0; i < 20; ++i) BOOST_TEST(trainer.with({.deadline = 2s}).rpc_sync("p1", &square, i) == i * i);
  BOOST_TEST(!large.ready());
  wire.there().throttle(0);
  BOOST_TEST(large.get().numel() == floats_of(100));
}

BOOST_AUTO_TEST_CASE(twenty_answers_of_32_mib_over_100_mbit_condemn_nobody,
                     *precondition(NeedsNamespaces{}) * label("privileged")) {
  const NetworkNamespace place;
  const NetworkNamespace::Inside inside(place);
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  place.limit_rate("lo", 100);
  std::vector<Future<Tensor>> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(trainer.rpc_async("p1", &filled, floats_of(32), 1.0));
  BOOST_TEST(!answers.back().get_for(10s).has_value());  // 640 MiB take 54 s
  place.limit_rate("lo", 20'000);
  for (const Future<Tensor>& answer : answers) BOOST_TEST(answer.get().numel() == floats_of(32));
}

BOOST_AUTO_TEST_CASE(twelve_calls_with_strings_of_40_mib_condemn_nobody, *precondition(NeedsMemory{3000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  const std::string text(40 * kMiB, 'x');
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < 12; ++i) calls.push_back(cluster.trainer().rpc_async("p1", &count_characters, text));
  BOOST_TEST(std::ranges::count(results_of(calls), static_cast<std::int64_t>(40 * kMiB)) == 12);
}

BOOST_AUTO_TEST_CASE(tensor_above_1_gib_travels_both_ways_and_so_does_what_follows,
                     *precondition(NeedsMemory{6000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  BOOST_TEST(trainer.rpc_sync("p1", &count_elements, tensor_of(1100)) == floats_of(1100));
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
  BOOST_TEST(trainer.rpc_sync("p1", &filled, floats_of(1100), 1.0).numel() == floats_of(1100));
  BOOST_TEST(trainer.rpc_sync("p1", &square, 4) == 16);
}

BOOST_AUTO_TEST_CASE(tensor_whose_size_needs_more_than_32_bits_travels_both_ways,
                     *precondition(NeedsMemory{11000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  BOOST_TEST(trainer.rpc_sync("p1", &last_element, full({floats_of(4100)}, 2.0)) == 2.0);
  const Tensor answer = trainer.rpc_sync("p1", &filled, floats_of(4100), 3.0);
  BOOST_TEST(answer.numel() == floats_of(4100));
  BOOST_TEST(last_element(answer) == 3.0);
}

BOOST_AUTO_TEST_CASE(slow_function_bounds_what_its_node_holds_of_fast_callers,
                     *precondition(NeedsMemory{3000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1", .pool = {.threads = 1, .threads_max = 2}}}});
  const pid_t p1 = cluster.process("p1").pid();
  const std::size_t before = process_use(p1).resident_bytes;
  const Tensor tensor = tensor_of(8);
  std::vector<Future<std::int64_t>> calls;
  for (int i = 0; i < 110; ++i) calls.push_back(cluster.trainer().rpc_async("p1", &count_elements_after, tensor, 50));
  BOOST_TEST(std::ranges::count(results_of(calls), floats_of(8)) == 110);
  const std::size_t held = process_use(p1).resident_bytes_max - before;
  BOOST_TEST(held < 500 * kMiB, "held " << held / kMiB << " MiB of 880");
}

BOOST_AUTO_TEST_CASE(peer_that_does_not_take_its_answers_has_no_further_calls_begun,
                     *precondition(NeedsMemory{3000 * kMiB})) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}, .trainer = trainer_behind(wire)});
  Node& trainer = cluster.trainer();
  const pid_t p1 = cluster.process("p1").pid();
  const std::size_t before = process_use(p1).resident_bytes;
  wire.there().throttle(4'000'000);
  std::vector<Future<Tensor>> answers;
  for (int i = 0; i < 40; ++i) answers.push_back(trainer.rpc_async("p1", &filled, floats_of(8), 1.0));
  const auto due = std::chrono::steady_clock::now() + 10s;
  while (process_use(p1).resident_bytes < before + 300 * kMiB && std::chrono::steady_clock::now() < due)
    std::this_thread::yield();
  for (int i = 0; i < 70; ++i) answers.push_back(trainer.rpc_async("p1", &filled, floats_of(8), 1.0));
  BOOST_TEST(!answers.back().get_for(3s).has_value());
  const std::size_t held = process_use(p1).resident_bytes_max - before;
  BOOST_TEST(held < 500 * kMiB, "held " << held / kMiB << " MiB of 880");
  wire.there().throttle(0);
  for (const Future<Tensor>& answer : answers) BOOST_TEST(answer.get().numel() == floats_of(8));
}

/// Returns the times of the slowest of 20 small calls to `peer` and of the slowest of 8 with 16 MiB, all in turn.
std::pair<std::chrono::milliseconds, std::chrono::milliseconds> slowest_calls(Node& trainer, const NodeName& peer) {
  const auto slowest = [](int count, const auto& call) {
    std::chrono::steady_clock::duration most{};
    for (int i = 0; i < count; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      call(i);
      most = std::max(most, std::chrono::steady_clock::now() - begin);
    }
    return std::chrono::duration_cast<std::chrono::milliseconds>(most);
  };
  const Tensor tensor = tensor_of(16);
  const auto small = slowest(20, [&](int i) { BOOST_TEST(trainer.rpc_sync(peer, &square, i) == i * i); });
  const auto large =
      slowest(8, [&](int) { BOOST_TEST(trainer.rpc_sync(peer, &count_elements, tensor) == floats_of(16)); });
  return {small, large};
}

BOOST_AUTO_TEST_CASE(slow_peer_slows_nobody_else) {
  // Whatever waits for a piece of 8 MiB that goes to the slow peer waits 2 s.
  constexpr auto kSlack = 700ms;
  ByteProxy wire;
  TestCluster cluster(
      ProcessPlan{.others = {{.name = "p1", .bind = wire.target(), .advertise = wire.address()}, {.name = "p2"}}});
  Node& trainer = cluster.trainer();
  const auto [small_alone, large_alone] = slowest_calls(trainer, "p2");
  wire.there().throttle(4'000'000);
  std::vector<Future<std::int64_t>> slow;
  for (int i = 0; i < 8; ++i) slow.push_back(trainer.rpc_async("p1", &count_elements, tensor_of(16)));
  const auto [small, large] = slowest_calls(trainer, "p2");
  BOOST_TEST((small < small_alone + kSlack), small.count() << " ms, alone " << small_alone.count());
  BOOST_TEST((large < large_alone + kSlack), large.count() << " ms, alone " << large_alone.count());
  BOOST_TEST(!slow.back().ready());
  wire.there().throttle(0);
  BOOST_TEST(std::ranges::count(results_of(slow), floats_of(16)) == 8);
}

BOOST_AUTO_TEST_CASE(small_call_behind_a_tensor_above_1_gib_is_served, *precondition(NeedsMemory{6000 * kMiB})) {
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}});
  Node& trainer = cluster.trainer();
  const Future<std::int64_t> large = trainer.rpc_async("p1", &count_elements, tensor_of(1100));
  BOOST_TEST(trainer.rpc_sync("p1", &square, 3) == 9);
  BOOST_TEST(large.get() == floats_of(1100));
}

BOOST_AUTO_TEST_CASE(answers_to_a_peer_that_reads_slowly_are_bounded, *precondition(NeedsMemory{3000 * kMiB})) {
  ByteProxy wire;
  TestCluster cluster(ProcessPlan{.others = {{.name = "p1"}}, .trainer = trainer_behind(wire)});
  Node& trainer = cluster.trainer();
  const pid_t p1 = cluster.process("p1").pid();
  const std::size_t before = process_use(p1).resident_bytes;
  wire.there().throttle(4'000'000);
  std::vector<Future<Tensor>> answers;
  for (int i = 0; i < 110; ++i) answers.push_back(trainer.rpc_async("p1", &filled, floats_of(8), 1.0));
  BOOST_TEST(!answers.back().get_for(5s).has_value());
  const std::size_t held = process_use(p1).resident_bytes_max - before;
  BOOST_TEST(held < 500 * kMiB, "held " << held / kMiB << " MiB of 880");
  wire.there().throttle(0);
  for (const Future<Tensor>& answer : answers) BOOST_TEST(answer.get().numel() == floats_of(8));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::testing
