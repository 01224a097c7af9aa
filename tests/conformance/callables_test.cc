// Callable things: operations without registration, default arguments, overloads.
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "actors/collect.h"
#include "actors/op.h"
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/conformance/async_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
namespace {

using boost::unit_test::fixture;
using boost::unit_test::label;

}  // namespace

BOOST_FIXTURE_TEST_SUITE(callables, OnSharedCluster, *fixture<SharedCluster>())

BOOST_AUTO_TEST_CASE(operation_is_called_without_registration, *label("R-01") * label("R-10")) {
  const Tensor x = arange(4);
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::add, x, x), x + x));
  BOOST_TEST(
      same_bytes(trainer.rpc_sync("p1", op::matmul, ones({2, 3}), ones({3, 4})), matmul(ones({2, 3}), ones({3, 4}))));
  BOOST_TEST(trainer.rpc_async("p1", op::sum, x).get().item() == 6.0);  // 0 + 1 + 2 + 3
}

BOOST_AUTO_TEST_CASE(each_operation_by_name_is_the_one_of_that_name, *label("R-01")) {
  const Tensor x = from_values<double>({0.25, 0.75, 0.5, 1.5}, {2, 2});
  const Tensor y = from_values<double>({0.5, 0.25, 2.0, 1.0}, {2, 2});
  const auto one = [&](const auto& operation, const Tensor& here) {
    BOOST_TEST(same_bytes(trainer.rpc_sync("p1", operation, x), here));
  };
  one(op::expm1, expm1(x));
  one(op::log1p, log1p(x));
  one(op::rsqrt, rsqrt(x));
  one(op::sin, sin(x));
  one(op::cos, cos(x));
  one(op::erf, erf(x));
  one(op::silu, silu(x));
  one(op::square, square(x));
  one(op::reciprocal, reciprocal(x));
  one(op::exp2, exp2(x));
  one(op::log2, log2(x));
  one(op::log10, log10(x));
  one(op::logit, logit(x));
  one(op::tan, tan(x));
  one(op::asin, asin(x));
  one(op::acos, acos(x));
  one(op::atan, atan(x));
  one(op::sinh, sinh(x));
  one(op::cosh, cosh(x));
  one(op::asinh, asinh(x));
  one(op::atanh, atanh(x));
  one(op::erfc, erfc(x));
  one(op::floor, floor(x));
  one(op::ceil, ceil(x));
  one(op::round, round(x));
  one(op::trunc, trunc(x));
  one(op::frac, frac(x));
  one(op::sign, sign(x));
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::acosh, x + 1.0), acosh(x + 1.0)));
  one(op::max, max(x));
  one(op::min, min(x));
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::maximum, x, y), maximum(x, y)));
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::minimum, x, y), minimum(x, y)));
  BOOST_TEST(
      same_bytes(trainer.rpc_sync("p1", op::bmm, x.unsqueeze(0), y.unsqueeze(0)), bmm(x.unsqueeze(0), y.unsqueeze(0))));
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::outer, x.select(0, 0), y.select(0, 0)),
                        outer(x.select(0, 0), y.select(0, 0))));
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::cumsum, x, 1), cumsum(x, 1)));
}

BOOST_AUTO_TEST_CASE(second_operand_of_an_operation_may_be_a_number, *label("R-05")) {
  BOOST_TEST(trainer.rpc_sync("p1", op::add, ones({1}), 3).item() == 4.0);
  BOOST_TEST(trainer.rpc_sync("p1", op::mul, ones({1}), 0.5).item() == 0.5);
}

BOOST_AUTO_TEST_CASE(operation_on_variables_gives_a_variable) {
  const Variable w(ones({2}), RequiresGrad::yes);
  const Variable y = trainer.rpc_sync("p1", op::mul, w, w);
  BOOST_TEST(sum(y.value()).item() == 2.0);
}

BOOST_AUTO_TEST_CASE(result_of_an_operation_may_stay_where_it_is_made, *label("O-01")) {
  const RRef<Tensor> two = trainer.remote("p1", op::ones, Shape{2});
  BOOST_TEST(two.owner() == "p1");
  BOOST_TEST(same_bytes(two.to_here(trainer), ones({2})));
}

BOOST_AUTO_TEST_CASE(operation_that_fails_says_why, *label("R-28")) {
  const Error error = error_of([&] {
    static_cast<void>(trainer.rpc_sync("p1", op::matmul, ones({8, 4}), ones({5, 1})));
  });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.message == "[matmul] inner sizes differ: (8, 4) x (5, 1)");
}

BOOST_AUTO_TEST_CASE(arguments_left_out_have_their_default_values, *label("R-11")) {
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 40) == 600);      // 1600 % 1000
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 3, 3) == 27);     // 27 % 1000
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 3, 3, 10) == 7);  // 27 % 10
  BOOST_TEST(trainer.rpc_sync("p1", &power, 3, 3, 10) == 7);
}

BOOST_AUTO_TEST_CASE(destination_may_be_a_rank_or_what_describes_a_member, *label("R-02")) {
  for (const WorkerInfo& member : trainer.infos()) {
    BOOST_TEST(trainer.rpc_sync(member.rank, &where) == member.name);
    BOOST_TEST(trainer.rpc_sync(member, &where) == member.name);
    BOOST_TEST(trainer.rpc_async(static_cast<int>(member.rank), &where).get() == member.name);
    BOOST_TEST(trainer.remote(member, &where).to_here(trainer) == member.name);
  }
}

BOOST_AUTO_TEST_CASE(rank_that_nobody_has_is_an_error_in_all_kinds, *label("R-03")) {
  for (const std::int64_t rank : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 40}) {
    const auto check = [&](const Error& error) {
      BOOST_TEST(error.code == ErrorCode::not_joined);
      BOOST_TEST(error.execution == Execution::never);
      BOOST_TEST(error.message.starts_with(fmt::format("no member has rank {}: the world is ", rank)));
    };
    check(error_of([&] { static_cast<void>(trainer.rpc_sync(rank, &where)); }));
    check(error_of([&] { static_cast<void>(trainer.rpc_async(rank, &where).get()); }));
    check(error_of([&] { static_cast<void>(trainer.remote(rank, &where).to_here(trainer)); }));
  }
}

BOOST_AUTO_TEST_CASE(static_function_of_a_class_and_instances_as_arguments_work, *label("R-13") * label("R-14")) {
  BOOST_TEST(trainer.rpc_sync("p1", &Accumulator::add_by, NodeName("p2"), ones({1}), 3.0).item() == 4.0);
  Counter counter(5);
  BOOST_TEST(trainer.rpc_sync("p1", &value_after_increment, counter) == 6);
  BOOST_TEST(counter.value() == 5);  // the call received a copy
}

BOOST_AUTO_TEST_CASE(members_that_a_class_inherits_are_called_on_its_references) {
  const auto counter = trainer.remote("p1", constructor<LabelledCounter, std::string, std::int64_t>, "apples", 5);
  counter.rpc_sync(trainer, &LabelledCounter::add, 2);
  counter.rpc_async(trainer, &Counter::add, 1).get();
  BOOST_TEST(counter.rpc_sync(trainer, &LabelledCounter::value) == 8);
  BOOST_TEST(counter.rpc_sync(trainer, &LabelledCounter::text) == "apples 8");
  BOOST_TEST(counter.remote(trainer, &Counter::value).to_here(trainer) == 8);
}

BOOST_AUTO_TEST_CASE(a_free_function_runs_on_a_value_that_cannot_travel, *label("D-22")) {
  const auto sealed = trainer.remote("p1", constructor<Sealed, std::int64_t>, 5);
  BOOST_TEST(sealed.rpc_sync(trainer, &multiplied, 3) == 15);
}

BOOST_AUTO_TEST_CASE(twenty_heavy_calls_at_once_complete, *label("R-25")) {
  std::vector<Future<double>> traces;
  for (int i = 0; i < 20; ++i) traces.push_back(trainer.rpc_async("p1", &heavy_math, 50));
  for (const double trace : wait_all(traces)) BOOST_TEST(trace == 100.0);
}

BOOST_AUTO_TEST_CASE(shape_of_a_result_may_depend_on_the_data, *label("R-07")) {
  const Tensor x = from_values<float>({-1, 2, 0, 3, -4}, {5});
  const Tensor positive = trainer.rpc_sync("p1", &positive_of, x);
  BOOST_TEST(same_bytes(positive, positive_of(x)));
  BOOST_TEST(positive.shape() == Shape{2});
  BOOST_TEST(trainer.rpc_sync("p1", &positive_of, -x).shape() == Shape{2});
  BOOST_TEST(trainer.rpc_sync("p1", &positive_of, zeros({3})).shape() == Shape{0});
}

BOOST_AUTO_TEST_CASE(trainers_that_fetch_and_push_all_see_the_right_final_weights, *label("R-31")) {
  const auto model = trainer.remote("p4", constructor<Model, std::int64_t>, 3);
  const std::vector<Future<Tensor>> trained{trainer.rpc_async("p1", &train_model, model, 1.0, 10),
                                            trainer.rpc_async("p2", &train_model, model, 0.25, 20),
                                            trainer.rpc_async("p3", &train_model, model, 2.0, 5)};
  wait_all(trained);
  for (const char* node : {"p1", "p2", "p3"}) {
    // 10 * 1 + 20 * 0.25 + 5 * 2
    BOOST_TEST(same_bytes(trainer.rpc_sync(node, &train_model, model, 0.0, 1), full({3}, 25.0)));
  }
}

BOOST_AUTO_TEST_CASE(trace_of_the_user_goes_along_with_nested_calls) {
  BOOST_TEST(trainer.with({.trace = 77}).rpc_sync("p1", &trace_on, "p2") == 77U);
  BOOST_TEST(trainer.rpc_sync("p1", &trace_on, "p2") == 0U);
}

BOOST_AUTO_TEST_CASE(call_that_may_be_made_again_cannot_carry_references) {
  const auto value = trainer.remote("p1", constructor<Counter, std::int64_t>, 1);
  const Error error =
      error_of([&] { trainer.with({.repeat = Repeat::even_if_run}).rpc_sync("p2", &increment_of, value); });
  BOOST_TEST(error.code == ErrorCode::bad_argument);
  BOOST_TEST(error.execution == Execution::never);
  BOOST_TEST(value.rpc_sync(trainer, &Counter::value) == 1);
}

BOOST_AUTO_TEST_CASE(overloads_are_told_apart_by_their_signature) {
  BOOST_TEST(trainer.rpc_sync("p1", overload<std::int64_t(std::int64_t)>(&twice), 21) == 42);
  BOOST_TEST(trainer.rpc_sync("p1", overload<std::string(const std::string&)>(&twice), "ha") == "haha");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
