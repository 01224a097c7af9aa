#include "autograd/rows_fn.h"

#include <array>
#include <limits>

#include "autograd/anomaly.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(rows_fn)

namespace {

constexpr EmbeddingOptions kRows{.sparse = true};

Tensor numbers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }
Variable table() { return leaf({1.0, 2.0, 3.0, 4.0}); }
Variable column(const Variable& table) { return reshape(table, {4, 1}); }
Variable leaf_table() { return leaf({1.0, 2.0, 3.0, 4.0}, {4, 1}); }

}  // namespace

BOOST_AUTO_TEST_CASE(all_uses_of_a_table_add_up_to_rows_that_ascend) {
  const Variable w = leaf_table();
  const Variable loss = sum(embedding(w, numbers({3, 1}), kRows) * 2.0) + sum(embedding(w, numbers({1, 1, 2}), kRows));
  const Gradients found = backward(loss);
  const SparseTensor rows = found.sparse_of(w);
  BOOST_TEST_REQUIRE(rows.defined());
  BOOST_TEST(rows.is_coalesced());
  BOOST_TEST(rows.shape() == (Shape{4, 1}));
  expect(rows.indices(), {1.0, 2.0, 3.0}, {1, 3});
  expect(rows.values(), {4.0, 1.0, 2.0}, {3, 1});  // 2 + 1 + 1, 1, 2
  expect(found.of(w), {0.0, 4.0, 1.0, 2.0}, {4, 1});
  BOOST_TEST(found.size() == 1U);
}

BOOST_AUTO_TEST_CASE(rows_are_their_own_whatever_is_written_later) {
  const Variable w = leaf_table();
  Tensor index = numbers({3, 1, 3});
  Tensor gradient = from_values<double>({1.0, 2.0, 4.0}, {3, 1});
  const Variable rows = embedding(w, index, kRows);
  const Gradients found = backward(std::array{rows}, std::array{gradient});
  const Variable bags = embedding_bag(w, index, numbers({0, 1}), {.mode = BagMode::sum, .sparse = true});
  const Gradients of_bags = backward(sum(bags * 2.0));
  index.fill(0.0);
  gradient.fill(9.0);
  expect(found.of(w), {0.0, 2.0, 0.0, 5.0}, {4, 1});
  expect(found.sparse_of(w).indices(), {1.0, 3.0}, {1, 2});
  expect(found.sparse_of(w).values(), {2.0, 5.0}, {2, 1});
  expect(of_bags.sparse_of(w).indices(), {1.0, 3.0}, {1, 2});
  expect(of_bags.sparse_of(w).values(), {2.0, 4.0}, {2, 1});
}

BOOST_AUTO_TEST_CASE(asking_for_rows_in_between_changes_no_bit_of_sums) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Variable w(ones({3, 1}, dtype), RequiresGrad::yes);
    const auto pass = [&](double factor) {
      return backward(sum(embedding(w, numbers({2, 0, 2, 2}), kRows) *
                          Variable(from_values<double>({0.1, 1.0, 0.7, 2000.0}, {4, 1}).to(dtype)) * factor));
    };
    Gradients asked = pass(1.0);
    Gradients not_asked = pass(1.0);
    static_cast<void>(asked.sparse_of(w));
    asked.add(pass(0.25));
    not_asked.add(pass(0.25));
    BOOST_TEST(same_bytes(asked.sparse_of(w).values(), not_asked.sparse_of(w).values()));
    Tensor dense = backward(sum(embedding(w, numbers({0})) * 0.0)).of(w);
    for (const double factor : {1.0, 0.25}) dense = add(dense, pass(factor).of(w));
    BOOST_TEST(same_bytes(asked.of(w), dense));
  }
}

BOOST_AUTO_TEST_CASE(a_use_that_needs_the_whole_table_makes_the_gradient_a_tensor) {
  const Variable w = leaf_table();
  const Gradients found = backward(sum(embedding(w, numbers({3}), kRows)) + sum(w * w));
  BOOST_TEST(!found.sparse_of(w).defined());
  expect(found.of(w), {2.0, 4.0, 6.0, 9.0}, {4, 1});  // 2 w, and 1 for row 3
  const Gradients without = backward(sum(embedding(w, numbers({3}), kRows)) + sum(embedding(w, numbers({0}))));
  BOOST_TEST(!without.sparse_of(w).defined());
  expect(without.of(w), {1.0, 0.0, 0.0, 1.0}, {4, 1});
}

BOOST_AUTO_TEST_CASE(a_table_that_is_no_leaf_gets_a_tensor) {
  const Variable w = table();
  const Gradients found = backward(sum(embedding(column(w * 3.0), numbers({2, 2}), kRows)));
  BOOST_TEST(!found.sparse_of(w).defined());
  expect(found.of(w), {0.0, 0.0, 6.0, 0.0});
}

BOOST_AUTO_TEST_CASE(grad_and_hooks_see_tensors) {
  const Variable w = leaf_table();
  const Variable loss = sum(embedding(w, numbers({1}), kRows));
  expect(grad(loss, w), {0.0, 1.0, 0.0, 0.0}, {4, 1});
  const HookHandle handle = w.register_hook([](const Tensor& g) { return mul(g, 5.0); });
  const Gradients found = backward(loss);
  BOOST_TEST(!found.sparse_of(w).defined());
  expect(found.of(w), {0.0, 5.0, 0.0, 0.0}, {4, 1});
  handle.remove();
  BOOST_TEST(backward(loss).sparse_of(w).defined());
}

BOOST_AUTO_TEST_CASE(rows_are_the_same_whatever_the_order_of_the_pass) {
  const Variable w = leaf({0.1, 0.2, 0.3, 0.4}, {4, 1});
  const Variable a = sum(embedding(w, numbers({1, 2}), kRows) * 0.1);
  const Variable b = sum(embedding(w, numbers({2, 1}), kRows) * 0.7);
  const Variable c = sum(embedding(w, numbers({1}), kRows) * 1e16);
  const Tensor together = backward(a + b + c).of(w);
  // Roots that are marked in another order do not arrive in the order of their sums.
  const std::array<Variable, 3> roots{a, c, b};
  BOOST_TEST(same_bytes(backward(roots).of(w), together));
}

BOOST_AUTO_TEST_CASE(gradients_of_several_passes_stay_rows_until_a_tensor_joins_them) {
  const Variable w = leaf_table();
  const Variable other = leaf(1.0);
  Gradients all = backward(sum(embedding(w, numbers({1}), kRows)) * other);
  all.add(backward(sum(embedding(w, numbers({1, 3}), kRows))));
  expect(all.sparse_of(w).indices(), {1.0, 3.0}, {1, 2});
  expect(all.sparse_of(w).values(), {2.0, 1.0}, {2, 1});
  BOOST_TEST(all.leaves().size() == 2U);
  all.add(w, ones({4, 1}, DType::f64));
  BOOST_TEST(!all.sparse_of(w).defined());
  expect(all.of(w), {1.0, 3.0, 1.0, 2.0}, {4, 1});
  all.add(backward(sum(embedding(w, numbers({0}), kRows))));
  expect(all.of(w), {2.0, 3.0, 1.0, 2.0}, {4, 1});
  BOOST_TEST(all.size() == 2U);
}

BOOST_AUTO_TEST_CASE(iteration_gives_tensors_and_what_joins_later_counts) {
  const Variable w = leaf_table();
  Gradients all = backward(sum(embedding(w, numbers({1}), kRows)));
  for (const auto& [leaf, gradient] : all) expect(gradient, {0.0, 1.0, 0.0, 0.0}, {4, 1});
  all.add(backward(sum(embedding(w, numbers({2}), kRows))));
  BOOST_TEST(all.sparse_of(w).count() == 2);
  for (const auto& [leaf, gradient] : all) expect(gradient, {0.0, 1.0, 1.0, 0.0}, {4, 1});
  expect(all.of(w), {0.0, 1.0, 1.0, 0.0}, {4, 1});
}

BOOST_AUTO_TEST_CASE(anomalies_in_rows_are_found) {
  const Variable w = leaf_table();
  const AnomalyGuard guard;
  const Variable rows = embedding(w, numbers({1}), kRows);
  const Tensor nan = full({1, 1}, std::numeric_limits<double>::quiet_NaN(), DType::f64);
  BOOST_CHECK_THROW((void)backward(std::array{rows}, std::array{nan}), BackwardError);
}

BOOST_AUTO_TEST_SUITE_END()
