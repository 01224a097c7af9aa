#include "autograd/ops/index.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_index)

namespace {

Variable matrix() { return leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_picked_twice_collects_both_gradients) {
  const Variable x = matrix();
  const Tensor columns = from_values<std::int64_t>({2, 0, 2});
  expect(index_select(x, 1, columns).value(), {3.0, 1.0, 3.0, 6.0, 4.0, 6.0}, {2, 3});
  expect(gradient_of(x, index_select(x, 1, columns)), {2.0, 0.0, 4.0, 5.0, 0.0, 10.0}, {2, 3});

  const Tensor rows = from_values<std::int64_t>({1, 1}, {2, 1});
  expect(embedding(x, rows).value(), {4.0, 5.0, 6.0, 4.0, 5.0, 6.0}, {2, 1, 3});
  expect(gradient_of(x, embedding(x, rows)), {0.0, 0.0, 0.0, 5.0, 7.0, 9.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(gathered_elements_give_their_gradients_back_and_added_ones_theirs) {
  const Variable x = matrix();
  const Tensor index = from_values<std::int64_t>({2, 2, 0, 1}, {2, 2});
  expect(gather(x, 1, index).value(), {3.0, 3.0, 4.0, 5.0}, {2, 2});
  expect(gradient_of(x, gather(x, 1, index)), {0.0, 0.0, 3.0, 3.0, 4.0, 0.0}, {2, 3});

  const Variable source = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});  // the index takes two columns of it
  const Variable sums = scatter_add(x, 1, index, source);
  expect(sums.value(), {1.0, 2.0, 6.0, 8.0, 10.0, 6.0}, {2, 3});  // 3+1+2, 4+4, 5+5
  expect(gradient_of(x, sums), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(source, sums), {3.0, 3.0, 0.0, 4.0, 5.0, 0.0}, {2, 3});
  expect(gradient_of(x, masked_fill(x, from_values<bool>({true, false, true}), 0.0)), {0.0, 2.0, 0.0, 0.0, 5.0, 0.0},
         {2, 3});
}

BOOST_AUTO_TEST_CASE(of_elements_scattered_to_one_place_the_one_that_stayed_gets_the_gradient) {
  const Variable x = matrix();
  const Tensor index = from_values<std::int64_t>({2, 2, 0, 1}, {2, 2});
  const Variable source = leaf({7.0, 8.0, 9.0, 10.0, 11.0, 12.0}, {2, 3});  // the index takes two columns of it
  const Variable y = scatter(x, 1, index, source);
  expect(y.value(), {1.0, 2.0, 8.0, 10.0, 11.0, 6.0}, {2, 3});
  expect(gradient_of(x, y), {1.0, 2.0, 0.0, 0.0, 0.0, 6.0}, {2, 3});
  expect(gradient_of(source, y), {0.0, 3.0, 0.0, 4.0, 5.0, 0.0}, {2, 3});
  expect(gradient_of(x, scatter(x, 1, index, 7.0)), {1.0, 2.0, 0.0, 0.0, 0.0, 6.0}, {2, 3});
  const Tensor places = from_values<std::int64_t>({1, 1});
  const Variable rows = leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(rows, index_copy(x, 0, places, rows)), {0.0, 0.0, 0.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(x, index_copy(x, 0, places, rows)), {1.0, 2.0, 3.0, 0.0, 0.0, 0.0}, {2, 3});
  expect(gradient_of(x, index_fill(x, 1, places, 0.0)), {1.0, 0.0, 3.0, 4.0, 0.0, 6.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(what_was_taken_by_mask_or_along_a_dimension_has_its_gradient_there) {
  const Variable x = matrix();
  const Variable source = leaf({7.0, 8.0, 9.0, 10.0});
  const Variable y = masked_scatter(x, from_values<bool>({false, true, false}), source);
  expect(y.value(), {1.0, 7.0, 3.0, 4.0, 8.0, 6.0}, {2, 3});
  expect(gradient_of(source, y), {2.0, 5.0, 0.0, 0.0});
  expect(gradient_of(x, y), {1.0, 0.0, 3.0, 4.0, 0.0, 6.0}, {2, 3});
  expect(gradient_of(x, masked_scatter(x, zeros({3}, DType::boolean), source)), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  // Column 2, then column 0 of both rows.
  expect(gradient_of(x, take_along_dim(x, from_values<std::int64_t>({2, 0}, {1, 2}), 1)),
         {2.0, 0.0, 1.0, 4.0, 0.0, 3.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(sorted_elements_get_their_gradients_where_they_were) {
  const Variable x = leaf({3.0, 1.0, 2.0});
  expect(gradient_of(x, sort(x).values), {3.0, 1.0, 2.0});
  expect(gradient_of(x, topk(x, 1).values), {1.0, 0.0, 0.0});
  expect(topk(x, 2).indices, {0.0, 2.0});
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const Tensor index = from_values<std::int64_t>({1, 0, 1, 1}, {2, 2});
  expect_gradcheck([&](Inputs v) { return tanh(gather(v[0], 0, index) * 0.1); }, {matrix()});
  expect_gradcheck([&](Inputs v) { return tanh(scatter_add(v[0], 1, index, v[1]) * 0.1); },
                   {matrix(), leaf({1.0, 2.0, 3.0, 4.0}, {2, 2})});
  expect_gradcheck([&](Inputs v) { return tanh(scatter(v[0], 1, index, v[1]) * 0.1); },
                   {matrix(), leaf({1.0, 2.0, 3.0, 4.0}, {2, 2})});
  expect_gradcheck([&](Inputs v) { return tanh(scatter(v[0], 1, index, 0.5) * 0.1); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(sort(v[0], 0, Order::descending).values * 0.1); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(topk(v[0], 2).values * 0.1); }, {matrix()});
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>([] { (void)gather(matrix(), 0, zeros({1}, DType::i64)); },
                           "[gather] index does not fit: (1) for (2, 3)");
  expect_throw<ValueError>([] { (void)topk(matrix(), 4); }, "[topk] k is 4, dimension 1 has 3");
}

BOOST_AUTO_TEST_CASE(masks_and_indices_may_be_variables) {
  const Variable x = leaf({1.0, 2.0, 3.0});
  const Variable y = leaf({10.0, 20.0, 30.0});
  const Variable mask = from_values<bool>({true, false, true});
  const Variable index = from_values<std::int64_t>({2, 0});
  expect(where(mask, x, y).value(), {1.0, 20.0, 3.0}, {3});
  expect(where(mask, x, 5.0).value(), {1.0, 5.0, 3.0}, {3});
  expect(where(mask, 5.0, x).value(), {5.0, 2.0, 5.0}, {3});
  expect(gradient_of(x, where(x > 1.5, x, 0.0)), {0.0, 2.0, 3.0}, {3});
  expect(masked_fill(x, mask, 0.0).value(), {0.0, 2.0, 0.0}, {3});
  expect(masked_select(x, mask).value(), {1.0, 3.0}, {2});
  expect(masked_scatter(x, mask, y).value(), {10.0, 2.0, 20.0}, {3});
  expect(index_select(x, 0, index).value(), {3.0, 1.0}, {2});
  expect(gather(x, 0, index).value(), {3.0, 1.0}, {2});
  expect(take_along_dim(x, index, 0).value(), {3.0, 1.0}, {2});
  expect(scatter(x, 0, index, y).value(), {20.0, 2.0, 10.0}, {3});
  expect(scatter(x, 0, index, 0.0).value(), {0.0, 2.0, 0.0}, {3});
  expect(scatter_add(x, 0, index, y).value(), {21.0, 2.0, 13.0}, {3});
  expect(index_fill(x, 0, index, 5.0).value(), {5.0, 2.0, 5.0}, {3});
  expect(index_copy(x, 0, index, y.slice(0, 0, 2)).value(), {20.0, 2.0, 10.0}, {3});
  expect(index_add(x, 0, index, y.slice(0, 0, 2)).value(), {21.0, 2.0, 13.0}, {3});
  expect(embedding(Variable(from_values<double>({1.0, 2.0, 3.0}, {3, 1})), index).value(), {3.0, 1.0}, {2, 1});
  const Variable rows = from_values<double>({1.0, 2.0, 3.0}, {3, 1});
  const Variable all = from_values<std::int64_t>({2, 0, 1});
  const EmbeddingBagOptions sums{.mode = BagMode::sum};
  expect(embedding_bag(rows, all, Variable(from_values<std::int64_t>({0, 2})), sums).value(), {4.0, 2.0}, {2, 1});
  expect(embedding_bag(rows, all.view({1, 3}), {}, sums).value(), {6.0}, {1, 1});
  expect(repeat_interleave(x, all, 0).value(), {1.0, 1.0, 3.0}, {3});  // twice, never, once
  expect(gradient_of(x, masked_select(x, x > 1.5)), {0.0, 1.0, 2.0}, {3});
}

BOOST_AUTO_TEST_SUITE_END()
