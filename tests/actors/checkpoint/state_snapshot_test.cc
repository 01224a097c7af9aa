#include "actors/checkpoint/state_snapshot.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "autograd/nn/dropout.h"
#include "autograd/nn/linear.h"
#include "autograd/nn/sequential.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/io/generator_state.h"
#include "tests/support/counting_new.h"
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

BOOST_FIXTURE_TEST_CASE(values_with_the_form_of_a_generator_are_compared_by_their_elements, Snapshots) {
  Scope scope = node;
  const auto column_of = [](const std::vector<std::int64_t>& rows) {
    return from_values<std::int64_t>(std::span(rows), {3, 2}).select(1, 0);
  };
  w = Variable(column_of({1, 9, 2, 9, 3, 9}));
  StateSnapshot snapshot = take();
  w.set_value(column_of({1, 9, 2, 9, 4, 9}));  // the first bytes are the same
  BOOST_TEST(!snapshot.is_current(scope));
  w.set_value(from_values<std::int64_t>({5}).expand({3}));  // one element in memory
  BOOST_TEST(!snapshot.is_current(scope));
}

BOOST_AUTO_TEST_CASE(state_for_which_there_is_no_memory_changes_neither_values_nor_generators) {
  const auto made = [](std::uint64_t seed) {
    Generator generator(seed);
    return nn::sequential(std::make_shared<nn::Linear>(3, 2, generator), std::make_shared<nn::Dropout>(0.5, generator));
  };
  const auto has_state_of = [](nn::Module& module, nn::Module& other) {
    return std::ranges::equal(detail::full_state(module), detail::full_state(other), [](const auto& a, const auto& b) {
      return a.first == b.first && same_bytes(a.second, b.second);
    });
  };
  const auto [module, untouched, other] = std::tuple(made(1), made(1), made(2));
  const NamedTensors state = detail::full_state(*other);
  BOOST_TEST_REQUIRE(state.size() == 3U);  // weight, bias and generator
  for (std::size_t n = 1; !has_state_of(*module, *other); ++n) {
    BOOST_TEST_CONTEXT("allocation " << n) {
      try {
        const RefusedAllocation refused(n);
        detail::load_full_state(*module, state);
      } catch (const std::bad_alloc&) {
        BOOST_TEST(has_state_of(*module, *untouched));
      }
    }
  }
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
