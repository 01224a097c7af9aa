#include "actors/parallel/reducer.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>

#include "actors/dist_autograd.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "node/local_cluster.h"
#include "tensor/create.h"
#include "tests/actors/parallel/alone.h"
#include "tests/support/error_of.h"

namespace troupe::detail {
BOOST_AUTO_TEST_SUITE(reducers)

using troupe::testing::error_of;

BOOST_AUTO_TEST_CASE(what_earlier_passes_have_left_survives_a_round_that_fails) {
  LocalCluster cluster({"trainer"}, {});
  Node& node = cluster.node("trainer");
  const Variable w(zeros({2}), RequiresGrad::yes);
  const auto reducer = std::make_shared<Reducer>(
      node, std::make_unique<Rounds>(node, std::make_shared<troupe::testing::Alone>(), nn::NamedVariables{{"w", w}},
                                     nn::NamedVariables{}, DataParallelOptions{}));
  /// Returns the gradient of w after a pass of w * factor.
  const auto pass = [&](double factor) {
    DistContext context(node);
    reducer->attach(context);
    backward(context, sum(w * factor));
    return context.grad(w);
  };
  const auto held_pass = [&](double factor) {
    reducer->hold();
    static_cast<void>(pass(factor));
    reducer->stop_holding();
  };
  held_pass(100.0);
  HookHandle hook = w.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("the hook fails"); });
  static_cast<void>(error_of([&] { return pass(7.0); }));
  hook.remove();
  held_pass(20.0);
  BOOST_TEST(same_bytes(pass(1.0), full({2}, 121.0)));
  BOOST_TEST(same_bytes(pass(1.0), full({2}, 1.0)));
}

BOOST_AUTO_TEST_CASE(a_table_that_is_read_as_rows_and_whole_has_the_sum_of_both) {
  LocalCluster cluster({"trainer"}, {});
  Node& node = cluster.node("trainer");
  const Variable w(ones({2}), RequiresGrad::yes);
  const Variable table(ones({3, 2}), RequiresGrad::yes);
  const auto reducer =
      std::make_shared<Reducer>(node, std::make_unique<Rounds>(node, std::make_shared<troupe::testing::Alone>(),
                                                               nn::NamedVariables{{"w", w}, {"table", table}},
                                                               nn::NamedVariables{}, DataParallelOptions{}));
  for (int round = 0; round < 3; ++round) {
    DistContext context(node);
    reducer->attach(context);
    const Variable rows = embedding(table, from_values<std::int64_t>({1}, {1}), {.sparse = true});
    backward(context, sum(rows * w) + sum(table * 10.0));
    BOOST_TEST(same_bytes(context.grad(table), from_values<float>({10, 10, 11, 11, 10, 10}, {3, 2})));
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::detail
