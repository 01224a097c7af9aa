// Operations on a remote value other than a copy: its type, its readiness, a part of it, many at once.
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/dist_autograd.h"
#include "actors/dist_optimizer.h"
#include "actors/op.h"
#include "actors/to_here_all.h"
#include "autograd/ops.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tensor/sparse.h"
#include "tests/conformance/stream_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

/// Returns the number of requests that this node has made so far.
std::uint64_t requests_of(const Node& node) { return node.core().requests_started(); }

BOOST_FIXTURE_TEST_SUITE(values, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(creation_is_waited_for_apart_from_the_value, *label("O-18")) {
  const RRef<Tensor> operation = trainer.remote("p1", op::add, ones({1}), 1.0);
  const RRef<Tensor> one(trainer, ones({1}));
  auto held = std::make_optional(one.local_value(trainer));
  const RRef<Tensor> slow = trainer.remote("p1", &rref_add, one, one);  // its function waits for the turn on `one`
  const RRef<Counter> object = trainer.remote("p1", constructor<Counter, std::int64_t>, 3);
  const Future<void> made = slow.created(trainer);
  BOOST_TEST(!made.get_for(20ms).has_value());
  held.reset();
  made.get();
  operation.created(trainer).get();
  object.created(trainer).get();
  BOOST_TEST(operation.to_here(trainer).item() == 2.0);
  BOOST_TEST(slow.to_here(trainer).item() == 2.0);
  BOOST_TEST(object.rpc_sync(trainer, &Counter::value) == 3);
  const RRef<std::int32_t> never = trainer.remote("p1", &throw_out_of_range);
  BOOST_TEST(error_of([&] { return never.created(trainer).get(), 0; }).message == "index 7 of 3");
}

BOOST_AUTO_TEST_CASE(type_is_told_by_the_owner_once_the_value_exists, *label("O-27")) {
  const RRef<Tensor> mine(trainer, ones({1}));
  auto held = std::make_optional(mine.local_value(trainer));
  const RRef<Tensor> slow = trainer.remote("p1", &rref_value, mine);  // its function waits for the turn on `mine`
  const RRef<Counter> object = trainer.remote("p1", constructor<Counter, std::int64_t>, 3);
  const RRef<std::vector<Tensor>> list = trainer.remote("p1", &echo_tensors, std::vector{ones({1})});
  const Future<std::string> later = slow.type_async(trainer);
  BOOST_TEST(!later.get_for(20ms).has_value());
  held.reset();
  BOOST_TEST(later.get() == "tensor");
  BOOST_TEST(mine.type(trainer) == "tensor");
  BOOST_TEST(mine.type_async(trainer).get() == "tensor");
  BOOST_TEST(object.type(trainer) == "{i64}");
  BOOST_TEST(list.type(trainer) == "list<tensor>");
  const std::uint64_t before = requests_of(trainer);
  BOOST_TEST(slow.type(trainer) == "tensor");
  BOOST_TEST(requests_of(trainer) == before);  // one request only
  const RRef<std::int32_t> never = trainer.remote("p1", &throw_out_of_range);
  BOOST_TEST(error_of([&] { return never.type(trainer); }).message == "index 7 of 3");
  BOOST_TEST(error_of([&] { return never.type_async(trainer).get(); }).message == "index 7 of 3");
}

BOOST_AUTO_TEST_CASE(type_of_a_value_that_is_still_being_made_times_out, *label("O-28")) {
  const RRef<Tensor> one(trainer, ones({1}));
  auto held = std::make_optional(one.local_value(trainer));
  const RRef<Tensor> slow = trainer.remote("p1", &rref_value, one);  // its function waits for the turn on `one`
  const Scope hasty = trainer.with({.deadline = 20ms});
  for (const Error& error :
       {error_of([&] { return slow.type(hasty); }), error_of([&] { return slow.type_async(hasty).get(); })}) {
    BOOST_TEST(error.code == ErrorCode::timeout);
    BOOST_TEST(error.operation.starts_with("type of trainer."));
  }
  held.reset();
  BOOST_TEST(slow.type(trainer) == "tensor");
}

BOOST_AUTO_TEST_CASE(type_needs_no_turn) {
  const RRef<Counter> busy = trainer.remote("p1", constructor<Counter, std::int64_t>, 1);
  const Future<bool> working = busy.rpc_async(trainer, &Counter::hold_until_stopped);
  cluster.await_calls("p1", 1);
  BOOST_TEST(busy.type(trainer) == "{i64}");
  BOOST_TEST(working.cancel());
}

BOOST_AUTO_TEST_CASE(functions_and_operations_run_on_a_value_where_it_is) {
  const RRef<std::int64_t> number = trainer.remote("p1", &square, 12);
  BOOST_TEST(number.rpc_sync(trainer, &doubled) == 288);
  BOOST_TEST(number.rpc_sync(trainer, &digits, 10) == 3);
  BOOST_TEST(number.rpc_async(trainer, &digits, 2).get() == 8);
  BOOST_TEST(number.remote(trainer, &doubled).remote(trainer, &doubled).to_here(trainer) == 576);
}

BOOST_AUTO_TEST_CASE(rows_of_a_table_come_alone) {
  const std::int64_t rows = 10'000;
  const RRef<Tensor> table = trainer.remote("p1", op::add, full({rows, 8}, 0.0), 0.5);
  table.created(trainer).get();
  const auto received = [&] { return trainer.debug_info().traffic->at("p1").bytes_received; };
  const auto before = received();
  const Tensor some = table.rpc_sync(trainer, op::index_select, 0, from_values<std::int64_t>({3, 9'999, 3}));
  BOOST_TEST(same_bytes(some, full({3, 8}, 0.5)));
  BOOST_TEST(received() - before < 4096U);
  const Error error =
      error_of([&] { return table.rpc_sync(trainer, op::index_select, 0, from_values<std::int64_t>({rows})); });
  BOOST_TEST(error.message == "[index_select] index out of range: 10000 of 10000");
}

BOOST_AUTO_TEST_CASE(kept_copy_is_fetched_again_only_after_a_change) {
  const RRef<Counter> counter = trainer.remote("p1", constructor<Counter, std::int64_t>, 3);
  const auto first = counter.cached(trainer);
  BOOST_TEST(first->value() == 3);
  const std::uint64_t before = requests_of(trainer);
  for (int i = 0; i < 5; ++i) BOOST_TEST(counter.cached(trainer) == first);
  BOOST_TEST(requests_of(trainer) == before);
  BOOST_TEST(counter.rpc_sync(trainer, &Counter::value) == 3);  // const: changes nothing
  BOOST_TEST(counter.cached(trainer) == first);
  for (std::int64_t added = 1; added <= 20; ++added) {  // the node that makes the change sees it at once
    counter.rpc_sync(trainer, &Counter::add, 1);
    BOOST_TEST(counter.cached(trainer)->value() == 3 + added);
  }
  BOOST_TEST(first->value() == 3);
}

BOOST_AUTO_TEST_CASE(kept_copy_learns_of_changes_that_others_make) {
  const RRef<Counter> counter = trainer.remote("p1", constructor<Counter, std::int64_t>, 0);
  BOOST_TEST(counter.cached(trainer)->value() == 0);
  trainer.rpc_sync("p2", &increment_of, counter);
  const auto due = std::chrono::steady_clock::now() + 5s;
  while (counter.cached(trainer)->value() == 0 && std::chrono::steady_clock::now() < due) std::this_thread::yield();
  BOOST_TEST(counter.cached(trainer)->value() == 1);
  const RRef<Tensor> mine(trainer, zeros({2}));
  BOOST_TEST(same_bytes(*mine.cached(trainer), zeros({2})));
  mine.local_value(trainer)->fill(5);
  BOOST_TEST(same_bytes(*mine.cached(trainer), full({2}, 5)));
}

BOOST_AUTO_TEST_CASE(kept_copy_of_a_parameter_is_out_of_date_after_a_step) {
  const RRef<Variable> w = trainer.remote("p1", &echo_variable, Variable(ones({2}), RequiresGrad::yes));
  BOOST_TEST(same_bytes(w.cached(trainer)->value(), ones({2})));
  DistOptimizer optimizer(trainer, optim::SgdOptions{.lr = 0.5}, {w});
  for (int step = 1; step <= 3; ++step) {
    DistContext ctx(trainer);
    backward(ctx, sum(w.to_here(ctx)));
    optimizer.step(ctx);
    BOOST_TEST(same_bytes(w.cached(trainer)->value(), full({2}, 1 - 0.5 * step)));
  }
}

BOOST_AUTO_TEST_CASE(many_values_come_in_one_message_from_each_owner) {
  std::vector<RRef<std::int64_t>> squares;
  for (std::int64_t i = 0; i < 60; ++i)
    squares.push_back(trainer.remote(i % 3 == 0 ? "p1" : i % 3 == 1 ? "p2" : "trainer", &square, i));
  squares.push_back(squares.front());  // one of them twice: in a message of its own (RR-17)
  const std::uint64_t before = requests_of(trainer);
  const std::vector<std::int64_t> values = to_here_all(trainer, squares);
  BOOST_TEST(requests_of(trainer) - before == 4U);
  BOOST_TEST_REQUIRE(values.size() == 61U);
  for (std::int64_t i = 0; i < 60; ++i) BOOST_TEST(values[static_cast<std::size_t>(i)] == i * i);
  BOOST_TEST(values.back() == 0);
  BOOST_TEST(to_here_all(trainer, std::vector<RRef<std::int64_t>>{}).empty());
}

BOOST_AUTO_TEST_CASE(values_that_are_asked_for_twice_are_two_copies) {
  const RRef<Tensor> x(trainer, from_values<float>({1, 2}, {2}));
  std::vector<Tensor> copies = to_here_all(trainer, std::vector{x, x});
  copies[0].fill(3.0);
  BOOST_TEST(same_bytes(copies[0], from_values<float>({3, 3}, {2})));
  BOOST_TEST(same_bytes(copies[1], from_values<float>({1, 2}, {2})));
}

BOOST_AUTO_TEST_CASE(many_values_fail_with_the_one_that_fails) {
  const std::vector<RRef<std::int32_t>> some{trainer.remote("p1", &answer_after, 0),
                                             trainer.remote("p1", &throw_out_of_range),
                                             trainer.remote("p2", &answer_after, 0)};
  BOOST_TEST(error_of([&] { return to_here_all(trainer, some); }).message == "index 7 of 3");
}

BOOST_AUTO_TEST_CASE(fetch_under_way_ends_when_the_creation_fails, *label("R-26")) {
  const Scope unlimited = trainer.with({.deadline = Deadline::while_peer_lives()});
  const RRef<std::int64_t> never = unlimited.remote("p1", &only_on_trainer, 1);
  const Future<std::int64_t> fetched = never.to_here_async(unlimited);
  BOOST_TEST(error_of([&] { return fetched.get(); }).code == ErrorCode::no_such_function);
}

bool same(const SparseTensor& a, const SparseTensor& b) {
  return a.shape() == b.shape() && a.is_coalesced() == b.is_coalesced() && same_bytes(a.indices(), b.indices()) &&
         same_bytes(a.values(), b.values());
}

BOOST_AUTO_TEST_CASE(sparse_tensors_arrive_equal_coalesced_or_not, *label("R-21")) {
  const SparseTensor twice(from_values<std::int64_t>({2, 0, 2}, {1, 3}), from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2}),
                           {4, 2});
  for (const SparseTensor& sparse : {twice, twice.coalesce(), SparseTensor()}) {
    BOOST_TEST(same(trainer.rpc_sync("p1", &echo_sparse, sparse), sparse));
    BOOST_TEST(same(trainer.remote("p1", &echo_sparse, sparse).to_here(trainer), sparse));
    BOOST_TEST(same(RRef<SparseTensor>(trainer, sparse).to_here(trainer), sparse));
  }
  const SparseTensor there = trainer.rpc_sync("p1", &echo_sparse, twice);
  BOOST_TEST(!there.is_coalesced());
  BOOST_TEST(same_bytes(there.coalesce().values(), from_values<float>({3, 4, 6, 8}, {2, 2})));
  BOOST_TEST(same_bytes(there.to_dense(), from_values<float>({3, 4, 0, 0, 6, 8, 0, 0}, {4, 2})));
}

BOOST_AUTO_TEST_CASE(memory_of_the_caller_is_copied_before_it_is_sent, *label("R-37")) {
  std::vector<float> memory(100'000, 1.0F);
  const Tensor tensor = from_values<float>(std::span<const float>(memory), {100'000});
  const Future<std::vector<Tensor>> echoed = trainer.rpc_async("p1", &echo_tensors, std::vector{tensor});
  std::fill(memory.begin(), memory.end(), 2.0F);
  memory = {};
  BOOST_TEST(same_bytes(echoed.get().front(), full({100'000}, 1.0)));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(reference_that_is_still_held_at_the_end_is_reported_and_shutdown_passes, *label("O-22")) {
  RRef<std::int64_t> held;
  RRef<std::int64_t> held_too;
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  const int line = __LINE__ + 1;
  held = trainer.remote("p1", &square, 3);
  held_too = held.remote(trainer, &scale, 2);
  const RRef<std::int64_t> mine(trainer, 4);
  { const RRef<std::int64_t> dropped = trainer.remote("p1", &square, 5); }
  const ShutdownReport report = trainer.shutdown();
  BOOST_TEST(report.clean());
  const auto text = [](const RRef<std::int64_t>& rref, int at) {
    return "RRef<i64> " + rref.id().text() + " on p1, made at tests/conformance/values_test.cc:" + std::to_string(at);
  };
  BOOST_TEST(report.leaked == (std::vector<std::string>{text(held, line), text(held_too, line + 1)}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(node_that_holds_nothing_at_the_end_reports_nothing, *label("O-22")) {
  TestCluster cluster({"p1"});
  Node& trainer = cluster.trainer();
  // A reference inside a value does not belong to the program: it ends with its node.
  const RRef<Bundle> bundle(trainer, Bundle{"kept", trainer.remote("p1", &add, ones({1}), 1.0), {}, {}});
  BOOST_TEST(bundle.is_owner());
  BOOST_TEST(trainer.shutdown().leaked.empty());
}

BOOST_AUTO_TEST_CASE(shutdown_in_strict_mode_fails_and_names_what_is_held, *label("O-21")) {
  RRef<std::int64_t> held;
  TestCluster cluster({"p1"}, {}, backend_of_this_run(), Leaks::fail);
  Node& trainer = cluster.trainer();
  held = trainer.remote("p1", &square, 3);
  BOOST_CHECK_EXCEPTION(trainer.shutdown(), std::logic_error, [&](const auto& error) {
    const std::string text = error.what();
    return text.starts_with("[shutdown] trainer still holds 1 references: RRef<i64> " + held.id().text() +
                            " on p1, made at ");
  });
  BOOST_TEST(trainer.core().stopped());
}

}  // namespace
}  // namespace troupe::testing
