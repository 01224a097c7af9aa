#include "actors/checkpoint/staged_state.h"

#include <boost/test/unit_test.hpp>

#include <limits>
#include <string>

#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(staged_state)

using detail::check_plans;
using detail::StagedState;

namespace {

struct Staged {
  LocalCluster cluster{{"a"}, {}};
  Scope scope = cluster.node("a");
  NamedTensors loaded;
  StagedState state{{{"w", DType::u8, {4}}, {"v", DType::u8, {2}}},
                    [this](const Scope&, const NamedTensors& all) { loaded = all; }};
};

Tensor bytes(std::initializer_list<std::uint8_t> values) { return from_values<std::uint8_t>(values); }

}  // namespace

BOOST_FIXTURE_TEST_CASE(chunks_in_any_order_are_put_together_and_loaded_at_once, Staged) {
  state.write(0, 2, bytes({3, 4}));
  state.write(1, 0, bytes({5, 6}));
  expect_throw<std::logic_error>([&] { state.load(scope); }, "[checkpoint] 2 bytes have not come");
  BOOST_TEST(loaded.empty());
  state.write(0, 0, bytes({1, 2}));
  state.load(scope);
  BOOST_TEST_REQUIRE(loaded.size() == 2U);
  BOOST_TEST(same_bytes(loaded[0].second, bytes({1, 2, 3, 4})));
  BOOST_TEST(same_bytes(loaded[1].second, bytes({5, 6})));
}

BOOST_FIXTURE_TEST_CASE(bytes_that_have_no_place_are_refused, Staged) {
  expect_throw<IndexError>(
      [&] {
        state.write(0, 3, bytes({1, 2}));
      },
      "[checkpoint] bytes 3 to 5 of tensor 0, which has 4");
  BOOST_CHECK_THROW(state.write(0, std::numeric_limits<std::uint64_t>::max(), bytes({1, 2})), IndexError);
  expect_throw<IndexError>([&] { state.write(2, 0, bytes({1})); }, "[checkpoint] tensor 2 of 2");
  state.write(0, 0, bytes({1, 2, 3, 4}));
  state.write(1, 0, bytes({1, 2}));
  expect_throw<std::logic_error>([&] { state.write(1, 0, bytes({1, 2})); }, "[checkpoint] bytes were written twice");
}

BOOST_AUTO_TEST_CASE(every_difference_of_names_shapes_and_dtypes_is_listed) {
  const std::vector<TensorPlan> wanted{{"a", DType::f32, {2}}, {"b", DType::f32, {2}}, {"c", DType::f64, {}}};
  check_plans("op", wanted, {wanted[2], wanted[0], wanted[1]});
  expect_throw<ValueError>(
      [&] {
        check_plans("op", wanted,
                    {{"b", DType::f32, {3}}, {"c", DType::f32, {}}, {"d", DType::f32, {}}, {"d", DType::f32, {}}});
      },
      "[op] missing: a; unexpected: d; given twice: d; b is f32 (3), not f32 (2); c is f32 (), not f64 ()");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
