// What can be called: operations without registration, default arguments, overloads.
#include <boost/test/unit_test.hpp>

#include <string>

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
  BOOST_TEST(same_bytes(trainer.rpc_sync("p1", op::matmul, ones({2, 3}), ones({3, 4})), matmul(ones({2, 3}), ones({3, 4}))));
  BOOST_TEST(trainer.rpc_async("p1", op::sum, x).get().item() == 6.0);  // 0 + 1 + 2 + 3
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
  const Error error = error_of([&] { static_cast<void>(trainer.rpc_sync("p1", op::matmul, ones({8, 4}), ones({5, 1}))); });
  BOOST_TEST(error.code == ErrorCode::remote_exception);
  BOOST_TEST(error.message == "[matmul] inner sizes differ: (8, 4) x (5, 1)");
}

BOOST_AUTO_TEST_CASE(arguments_left_out_have_their_default_values, *label("R-11")) {
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 40) == 600);             // 1600 % 1000
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 3, 3) == 27);            // 27 % 1000
  BOOST_TEST(trainer.rpc_sync("p1", power_fn, 3, 3, 10) == 7);         // 27 % 10
  BOOST_TEST(trainer.rpc_sync("p1", &power, 3, 3, 10) == 7);
}

BOOST_AUTO_TEST_CASE(overloads_are_told_apart_by_their_signature) {
  BOOST_TEST(trainer.rpc_sync("p1", overload<std::int64_t(std::int64_t)>(&twice), 21) == 42);
  BOOST_TEST(trainer.rpc_sync("p1", overload<std::string(const std::string&)>(&twice), "ha") == "haha");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe::testing
