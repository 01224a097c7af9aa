#include "actors/checkpoint/state_snapshot.h"

#include <boost/test/unit_test.hpp>

#include <string>

#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(state_snapshot)

using detail::StateSnapshot;

namespace {

struct Snapshots {
  LocalCluster cluster{{"a"}, {}};
  Node& node = cluster.node("a");
  Variable w{from_values<float>({1, 2, 3}), RequiresGrad::yes};
  Generator generator{1};

  [[nodiscard]] StateSnapshot take() {
    return {node, [this](const Scope&) { return NamedTensors{{"w", w.value()}, {"generator", state_of(generator)}}; }};
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(bytes_are_those_of_the_moment_whatever_is_written_later, Snapshots) {
  const StateSnapshot snapshot = take();
  BOOST_TEST((snapshot.plans() == std::vector<TensorPlan>{{"w", DType::f32, {3}}, {"generator", DType::i64, {3}}}));
  Tensor value = w.value();
  value.fill(9.0);  // in place, as no optimizer does
  const Tensor bytes = snapshot.read(0, 4, 8);
  BOOST_TEST((bytes.dtype() == DType::u8));
  BOOST_TEST(*reinterpret_cast<const float*>(bytes.bytes()) == 2.0F);
  BOOST_TEST(snapshot.read(0, 12, 0).numel() == 0);
}

BOOST_FIXTURE_TEST_CASE(snapshot_is_current_until_a_value_is_replaced_or_written_or_a_generator_draws, Snapshots) {
  Scope scope = node;
  StateSnapshot snapshot = take();
  BOOST_TEST(snapshot.is_current(scope));
  w.set_value(from_values<float>({1, 2, 3}));  // equal, but another step has been taken
  BOOST_TEST(!snapshot.is_current(scope));
  StateSnapshot second = take();
  BOOST_TEST(second.is_current(scope));
  w.value().fill(1.0);
  BOOST_TEST(!second.is_current(scope));
  StateSnapshot third = take();
  static_cast<void>(generator.next_u64());
  BOOST_TEST(!third.is_current(scope));
}

BOOST_FIXTURE_TEST_CASE(snapshot_is_not_current_once_another_view_of_its_memory_is_the_value, Snapshots) {
  Scope scope = node;
  w = Variable(from_values<float>({1, 2, 3, 4}).reshape({2, 2}));
  StateSnapshot snapshot = take();
  BOOST_TEST(snapshot.is_current(scope));
  w.set_value(w.value().transpose(0, 1));
  BOOST_TEST(!snapshot.is_current(scope));
}

BOOST_FIXTURE_TEST_CASE(bytes_outside_of_a_tensor_are_refused, Snapshots) {
  const StateSnapshot snapshot = take();
  const auto max = std::numeric_limits<std::uint64_t>::max();
  expect_throw<IndexError>([&] { static_cast<void>(snapshot.read(0, 8, 5)); },
                           "[checkpoint] bytes 8 to 13 of tensor 0, which has 12");
  expect_throw<IndexError>([&] { static_cast<void>(snapshot.read(0, 13, 0)); },
                           "[checkpoint] bytes 13 to 13 of tensor 0, which has 12");
  BOOST_CHECK_THROW(static_cast<void>(snapshot.read(0, 4, max)), IndexError);
  BOOST_CHECK_THROW(static_cast<void>(snapshot.read(0, max, 4)), IndexError);
  expect_throw<IndexError>([&] { static_cast<void>(snapshot.read(2, 0, 1)); }, "[checkpoint] tensor 2 of 2");
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
