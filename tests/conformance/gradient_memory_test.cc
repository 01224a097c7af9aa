// Which gradients a backward pass copies: counted by the blocks of memory that it takes.
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "autograd/custom_op.h"
#include "autograd/ops.h"
#include "autograd/ops/embedding.h"
#include "tensor/cpu/allocator.h"
#include "tensor/create.h"
#include "tests/conformance/gradient_functions.h"
#include "tests/conformance/test_cluster.h"

namespace troupe::testing {
BOOST_AUTO_TEST_SUITE(gradient_memory, *boost::unit_test::fixture<SharedCluster>())

namespace {

using boost::unit_test::label;

constexpr std::int64_t kRows = 40;
constexpr std::int64_t kWidth = 1000;

Variable large_leaf() { return Variable(full({kRows, kWidth}, 0.5), RequiresGrad::yes); }

/// Returns a root whose backward gives each of `inputs` the tensor that `give` returns.
Variable root_that_gives(const std::function<Tensor()>& give, const std::vector<Variable>& inputs) {
  return custom_op("give", full({1}, 1.0), inputs, [give](const Tensor&, std::span<const Edge> needed) {
    const Tensor given = give();
    return std::vector<Tensor>(needed.size(), given);
  });
}

/// Returns a function that gives `tensor` away: nobody else holds it.
std::function<Tensor()> given_away(Tensor tensor) {
  return [held = std::make_shared<Tensor>(std::move(tensor))] { return std::exchange(*held, Tensor()); };
}

/// Counts the blocks of passes. Its contexts live as long as it does: a context that ends gives its gradients back at
/// some later time, and the next pass would find their blocks.
class CountedPasses {
 public:
  explicit CountedPasses(const Node& trainer) : trainer_(trainer) {}

  /// Returns how many large tensors the pass from `root` makes.
  std::size_t operator()(const Variable& root) {
    cpu_allocator().release_cached();
    run(root_that_gives([] { return ones({2}); }, {Variable(zeros({2}), RequiresGrad::yes)}));
    static_cast<void>(arange(kRows));  // after it, small blocks of all sizes that a pass takes are there
    const std::size_t before = cpu_allocator().statistics().system_calls;
    run(root);
    return cpu_allocator().statistics().system_calls - before;
  }

 private:
  void run(const Variable& start) {
    contexts_.push_back(std::make_unique<DistContext>(trainer_));
    backward(*contexts_.back(), start);
  }

  const Node& trainer_;
  std::vector<std::unique_ptr<DistContext>> contexts_;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(gradient_that_nobody_else_holds_is_kept_without_a_copy, OnSharedCluster, *label("B-28")) {
  CountedPasses copies_in(trainer);
  const Variable a = large_leaf();
  const Variable b = large_leaf();
  const auto make = [] { return full({kRows, kWidth}, 2.0); };
  BOOST_TEST(copies_in(root_that_gives(given_away(make()), {a})) == 0U);
  const Variable sum_of_two = root_that_gives(given_away(make()), {a}) + root_that_gives(given_away(make()), {a});
  BOOST_TEST(copies_in(sum_of_two) == 0U);  // one is added to the other
}

BOOST_FIXTURE_TEST_CASE(gradient_that_is_shared_or_not_contiguous_is_copied_once, OnSharedCluster, *label("B-28")) {
  CountedPasses copies_in(trainer);
  const Variable a = large_leaf();
  const Variable b = large_leaf();
  const Tensor held = full({kRows, kWidth}, 2.0);
  BOOST_TEST(copies_in(root_that_gives([held] { return held; }, {a})) == 1U);
  BOOST_TEST(copies_in(root_that_gives(given_away(held.clone()), {a, b})) == 1U);  // the other keeps it
  const Tensor turned = transpose(full({kWidth, kRows}, 2.0));
  BOOST_TEST(copies_in(root_that_gives(given_away(turned.clone()), {a})) == 0U);
  BOOST_TEST(copies_in(root_that_gives([] { return transpose(full({kWidth, kRows}, 2.0)); }, {a})) == 2U);
}

BOOST_FIXTURE_TEST_CASE(rows_of_a_table_are_kept_without_a_copy_unless_somebody_holds_them, OnSharedCluster,
                        *label("B-28")) {
  CountedPasses copies_in(trainer);
  const Variable table(full({2 * kRows, kWidth}, 0.5), RequiresGrad::yes);
  const Variable rows = embedding(table, arange(kRows), {.sparse = true});
  BOOST_TEST(copies_in(root_that_gives(given_away(full({kRows, kWidth}, 2.0)), {rows})) == 0U);
  const Tensor held = full({kRows, kWidth}, 2.0);
  BOOST_TEST(copies_in(root_that_gives([held] { return held; }, {rows})) == 1U);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace troupe::testing
