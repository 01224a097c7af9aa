// Calls: the values that travel, the node that runs the function, and the result.
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

#include "actors/calls/call_encoder.h"
#include "autograd/engine.h"
#include "autograd/ops.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;
using boost::unit_test::fixture;
using boost::unit_test::label;

BOOST_FIXTURE_TEST_SUITE(calls, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(sync_call_returns_the_result, *label("R-01")) {
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", &add, ones({2}), 3.0), full({2}, 4)));  // 1 + 3
}

BOOST_AUTO_TEST_CASE(destination_is_a_name_as_string_view_or_literal, *label("R-02")) {
  const std::string name = "p2";
  BOOST_TEST(trainer.rpc_sync(name, &where) == "p2");
  BOOST_TEST(trainer.rpc_sync(std::string_view(name), &where) == "p2");
  BOOST_TEST(trainer.rpc_sync("p2", &where) == "p2");
}

BOOST_AUTO_TEST_CASE(names_and_members_agree_on_every_node, *label("I-01") * label("I-02")) {
  const std::vector<NodeName> all{"p1", "p2", "p3", "p4", "trainer"};
  for (const NodeName& name : all) {
    BOOST_TEST(trainer.rpc_sync(name, &where) == name);
    BOOST_TEST(trainer.rpc_sync(name, &members_here) == all, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(call_to_oneself_works_in_all_kinds, *label("R-04")) {
  BOOST_TEST(trainer.rpc_sync("trainer", &where) == "trainer");
  BOOST_TEST(trainer.rpc_async("trainer", &square, 5).get() == 25);
  BOOST_TEST(same_bytes(trainer.remote("trainer", &add, ones({2}), 1.0).to_here(trainer), full({2}, 2)));
}

BOOST_AUTO_TEST_CASE(call_to_oneself_copies_its_arguments) {
  Tensor mine = zeros({3});
  const auto theirs = trainer.rpc_sync("trainer", &write_first, std::vector<Tensor>{mine}, 7.0);
  BOOST_TEST(same_bytes(theirs[0], full({3}, 7)));
  BOOST_TEST(same_bytes(mine, zeros({3})));
}

BOOST_AUTO_TEST_CASE(argument_written_after_an_async_call_does_not_change_what_travels) {
  Tensor x = ones({1000});
  const Future<Tensor> sum = trainer.rpc_async("p1", &add, x, 1.0);
  x.fill(100);
  BOOST_TEST(same_bytes(sum.get(), full({1000}, 2)));
}

BOOST_AUTO_TEST_CASE(async_call_returns_a_future_with_the_right_value, *label("R-06")) {
  const Future<std::int64_t> squared = trainer.rpc_async("p1", &square, 12);
  BOOST_TEST(squared.get() == 144);
  BOOST_TEST(squared.ready());
  BOOST_TEST(squared.get() == 144);  // a second get()
}

BOOST_AUTO_TEST_CASE(twenty_calls_with_growing_sizes_are_all_right, *label("R-08") * label("R-15")) {
  std::vector<Future<Tensor>> sums;
  for (std::int64_t n = 1; n <= 20; ++n)
    sums.push_back(trainer.rpc_async("p1", &add, ones({n, n}), static_cast<double>(n)));
  for (std::int64_t n = 20; n >= 1; --n) {
    BOOST_TEST(same_bytes(sums[static_cast<std::size_t>(n - 1)].get(), full({n, n}, static_cast<double>(1 + n))));
  }
}

BOOST_AUTO_TEST_CASE(calls_that_end_in_another_order_are_all_right, *label("R-15")) {
  std::vector<Future<std::int32_t>> answers;
  for (const std::int32_t ms : {60, 0, 30}) answers.push_back(trainer.rpc_async("p1", &answer_after, ms));
  BOOST_TEST(answers[0].get() == 60);
  BOOST_TEST(answers[1].get() == 0);
  BOOST_TEST(answers[2].get() == 30);
}

BOOST_AUTO_TEST_CASE(thousand_light_calls_at_once_all_complete, *label("R-24")) {
  std::vector<Future<std::int64_t>> squares;
  for (std::int64_t i = 0; i < 1000; ++i) squares.push_back(trainer.rpc_async("p2", &square, i));
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < 1000; ++i) wrong += squares[static_cast<std::size_t>(i)].get() != i * i ? 1 : 0;
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(nested_containers_arrive_equal, *label("R-11")) {
  const Nested nested{
      {"", {}}, {"a", {std::nullopt, std::pair{-3, std::string("x\0y", 3)}}}, {"\xc3\xa9", {std::pair{7, ""}}}};
  BOOST_TEST((trainer.rpc_sync("p1", &echo_nested, nested) == nested));
  BOOST_TEST(trainer.rpc_sync("p1", &join_words, std::vector<std::string>{"exact", "not", "fast"}) == "exact not fast");
}

BOOST_AUTO_TEST_CASE(structs_with_tensors_arrive_equal, *label("R-17") * label("R-18")) {
  const Sample sample{
      "cat", from_values<std::uint8_t>({1, 2, 3, 4, 5, 6}, {2, 3}), {1, -2}, {{"mask", ones({2}, DType::boolean)}}};
  const Sample back = trainer.rpc_sync("p1", &echo_sample, sample);
  BOOST_TEST(back.name == "cat");
  BOOST_TEST(same_bytes(back.image, sample.image));
  BOOST_TEST(back.labels == sample.labels, boost::test_tools::per_element());
  BOOST_TEST(same_bytes(back.extra.at("mask"), sample.extra.at("mask")));
}

BOOST_AUTO_TEST_CASE(empty_scalar_and_undefined_tensors_arrive_as_they_are) {
  const auto back = trainer.rpc_sync("p1", &echo_tensors, std::vector<Tensor>{zeros({0, 3}), scalar(2.5F), Tensor()});
  BOOST_TEST(same_bytes(back[0], zeros({0, 3})));
  BOOST_TEST(same_bytes(back[1], scalar(2.5F)));
  BOOST_TEST(!back[2].defined());
}

BOOST_AUTO_TEST_CASE(transposed_view_arrives_with_the_same_values_and_layout, *label("R-19")) {
  const Tensor view = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3}).transpose();
  const Tensor back = trainer.rpc_sync("p1", &echo_tensors, std::vector<Tensor>{view})[0];
  BOOST_TEST(same_bytes(back, view));
  BOOST_TEST(!back.is_contiguous());
}

BOOST_AUTO_TEST_CASE(views_of_one_memory_in_one_call_are_views_of_one_memory_there) {
  const Tensor whole = zeros({4});
  const auto back =
      trainer.rpc_sync("p1", &write_first, std::vector<Tensor>{whole.slice(0, 0, 3), whole.slice(0, 1)}, 9.0);
  BOOST_TEST(same_bytes(back[0], full({3}, 9)));
  BOOST_TEST(same_bytes(back[1], from_values<float>({9, 9, 0})));  // elements 1, 2 were written through the first view
  BOOST_TEST(same_bytes(whole, zeros({4})));
}

BOOST_AUTO_TEST_CASE(small_view_of_a_large_tensor_arrives_without_the_rest, *label("R-20")) {
  const Tensor large = arange(1'000'000, DType::i64);
  const Tensor row = trainer.rpc_sync("p1", &echo_tensors, std::vector<Tensor>{large.slice(0, 500, 503)})[0];
  BOOST_TEST(same_bytes(row, from_values<std::int64_t>({500, 501, 502})));
  BOOST_TEST(row.storage().size() < 4096U);
}

BOOST_AUTO_TEST_CASE(tensor_of_eight_megabytes_arrives_equal) {
  const Tensor large = arange(2 * 1024 * 1024, DType::f32);
  BOOST_TEST(large.nbytes() == 8U << 20);
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", &add, large, 0.0), large));
}

/// Values that are no tensors, and tensors beside them, on both sides of every limit: what is shared, what travels in
/// one packet, what a lane grants.
BOOST_AUTO_TEST_CASE(large_values_that_are_no_tensors_arrive_equal_both_ways) {
  for (const std::size_t bytes : {60'000U, 70'000U, 600'000U, 5'000'000U}) {
    for (const std::int64_t floats : {1, 20'000, 300'000}) {
      const Sample sent{.name = std::string(bytes, 'x'),
                        .image = arange(floats, DType::f32),
                        .labels = std::vector<std::int64_t>(bytes / 8, 7),
                        .extra = {}};
      const Sample back = trainer.rpc_async("p1", &echo_sample, sent).get();
      BOOST_TEST((back.name == sent.name && back.labels == sent.labels));
      BOOST_TEST(same_bytes(back.image, sent.image));
      const Sample fetched = trainer.remote("p2", &echo_sample, sent).to_here(trainer);
      BOOST_TEST((fetched.name == sent.name && fetched.labels == sent.labels));
      BOOST_TEST(same_bytes(fetched.image, sent.image));
    }
  }
}

BOOST_AUTO_TEST_CASE(function_that_returns_nothing_is_waited_for, *label("R-16")) {
  trainer.rpc_sync("p1", &nothing);
  const Future<void> done = trainer.rpc_async("p1", &nothing);
  done.get();
  BOOST_TEST(done.ready());
  const RRef<Tensor> mine(trainer, zeros({1}));
  trainer.rpc_sync("p1", &fill_later, mine, 5.0, 20);
  BOOST_TEST(mine.to_here(trainer).item() == 5.0);
}

BOOST_AUTO_TEST_CASE(variable_without_a_context_keeps_its_flag_and_says_to_a_backward_that_its_graph_is_lost) {
  const Variable w(ones({2}), RequiresGrad::yes);
  const Variable back = trainer.rpc_sync("p1", &echo_variable, w);
  BOOST_TEST(same_bytes(back.value(), ones({2})));
  BOOST_TEST(back.requires_grad());
  BOOST_CHECK_THROW(static_cast<void>(backward(sum(back))), BackwardError);
  BOOST_TEST(!same(back, w));
  BOOST_TEST(!trainer.rpc_sync("p1", &echo_variable, Variable(ones({2}))).requires_grad());
}

BOOST_AUTO_TEST_CASE(arguments_convert_to_the_parameter_types_of_the_callee) {
  const std::int16_t narrow = -4;
  BOOST_TEST(trainer.rpc_sync("p1", &scale, narrow, std::int16_t{3}) == -12);
  BOOST_TEST(trainer.rpc_sync("p1", &ping_pong, "trainer", std::int8_t{0}) == 0);  // a literal for a std::string
}

BOOST_AUTO_TEST_CASE(nested_call_comes_back_to_its_caller, *label("R-22")) {
  BOOST_TEST(trainer.rpc_sync("p1", &ping_pong, "trainer", 1) == 1);
  BOOST_TEST(trainer.rpc_sync("p1", &square_on_and_one, "p2", 6) == 37);  // 6*6 + 1
}

BOOST_AUTO_TEST_CASE(ring_of_nested_calls_over_four_nodes_comes_back, *label("R-23")) {
  const RRef<Tensor> start(trainer, scalar(4.0F));
  std::vector<Future<Tensor>> rings;
  for (int i = 0; i < 8; ++i) {
    rings.push_back(
        trainer.rpc_async("p1", &forward_along, start, std::vector<NodeName>{"p2", "p3", "p4", "trainer", "p1"}));
  }
  for (const auto& ring : rings) BOOST_TEST(ring.get().item() == 4.0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(hundred_nested_calls_between_two_nodes_need_a_pool_of_one, *label("fault-F38")) {
  TestCluster cluster({"p1"}, PoolOptions{.threads = 1});
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &ping_pong, "trainer", 100) == 100);
  BOOST_TEST(cluster.trainer().rpc_sync("p1", &ping_pong, "p1", 100) == 100);  // to itself
}

BOOST_AUTO_TEST_CASE(world_of_one_node_calls_itself, *label("I-09")) {
  TestCluster cluster(std::vector<NodeName>{});
  Node& node = cluster.trainer();
  BOOST_TEST(node.rpc_sync("trainer", &square, 3) == 9);
  BOOST_TEST(node.rpc_async("trainer", &square, 4).get() == 16);
  BOOST_TEST(node.remote("trainer", &square, 5).to_here(node) == 25);
  cluster.expect_settled();
}

BOOST_AUTO_TEST_CASE(local_cluster_refuses_names_that_are_none_or_given_twice, *label("I-05") * label("I-08")) {
  const auto says = [](const char* text) {
    return [text](const std::invalid_argument& error) { return std::string_view(error.what()) == text; };
  };
  BOOST_CHECK_EXCEPTION(LocalCluster({"a", "b", "a"}, {}), std::invalid_argument,
                        says("[LocalCluster] the name \"a\" is given twice"));
  BOOST_CHECK_EXCEPTION(LocalCluster({"a/b"}, {}), std::invalid_argument,
                        says("[LocalCluster] \"a/b\" is not 1 to 127 of A-Z a-z 0-9 - _ : ."));
  BOOST_CHECK_EXCEPTION(LocalCluster({""}, {}), std::invalid_argument,
                        says("[LocalCluster] \"\" is not 1 to 127 of A-Z a-z 0-9 - _ : ."));
}

// Calls that do not compile.
using detail::ArgumentFor;
static_assert(ArgumentFor<double, float> && ArgumentFor<std::int64_t, std::int32_t>);
static_assert(!ArgumentFor<std::int32_t, std::int64_t>, "narrowing is refused");
static_assert(!ArgumentFor<float, double>, "narrowing is refused");
static_assert(!ArgumentFor<std::int64_t, double>, "narrowing is refused");
static_assert(!ArgumentFor<std::uint32_t, std::int32_t>, "narrowing is refused");
static_assert(ArgumentFor<std::string, const char*> && !ArgumentFor<std::string, int>);
static_assert(ArgumentFor<Variable, Tensor> && !ArgumentFor<Tensor, Variable>);
static_assert(ArgumentFor<std::vector<Tensor>, const std::vector<Tensor>&> &&
              !ArgumentFor<std::vector<Tensor>, Tensor>);
static_assert(!detail::is_wire_parameter<Tensor&> && !detail::is_wire_parameter<const Tensor*>);
static_assert(detail::is_wire_parameter<const Tensor&> && detail::is_wire_parameter<Tensor&&>);
static_assert(!Travels<Future<int>> && !Travels<Scope> && !Travels<Node>, "F-10, fault-F34: these cannot travel");
static_assert(std::tuple_size_v<detail::WireOf<decltype(&square_on_and_one)>> == 2, "the Scope is not passed");

}  // namespace
}  // namespace troupe::testing
