#include <array>

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_shape)

namespace {

Variable matrix() { return leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(rearranged_elements_get_their_gradients_back_in_place) {
  const Variable x = matrix();
  const std::array<int, 3> order{2, 0, 1};
  expect(gradient_of(x, reshape(x, {3, 2})), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(x, flatten(x)), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(x, unsqueeze(x, 1)), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(x, squeeze(reshape(x, {2, 1, 3}), 1)), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3});
  expect(gradient_of(x, transpose(x)), {1.0, 3.0, 5.0, 2.0, 4.0, 6.0}, {2, 3});
  // (1, 2, 3) -> (3, 1, 2): element (i, j) moves to place j * 2 + i
  expect(gradient_of(x, permute(unsqueeze(x, 0), order)), {1.0, 3.0, 5.0, 2.0, 4.0, 6.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(an_expanded_element_collects_the_gradients_of_all_its_copies) {
  const Variable x = leaf({1.0, 2.0}, {2, 1});
  expect(expand(x, {2, 3}).value(), {1.0, 1.0, 1.0, 2.0, 2.0, 2.0}, {2, 3});
  expect(gradient_of(x, expand(x, {2, 3})), {6.0, 15.0}, {2, 1});  // 1+2+3, 4+5+6
}

BOOST_AUTO_TEST_CASE(parts_that_were_not_taken_get_zeros) {
  const Variable x = matrix();
  expect(slice(x, 1, 0, 3, 2).value(), {1.0, 3.0, 4.0, 6.0}, {2, 2});
  expect(gradient_of(x, slice(x, 1, 0, 3, 2)), {1.0, 0.0, 2.0, 3.0, 0.0, 4.0}, {2, 3});
  expect(gradient_of(x, slice(x, 0, -1)), {0.0, 0.0, 0.0, 1.0, 2.0, 3.0}, {2, 3});
  expect(select(x, 1, -1).value(), {3.0, 6.0});
  expect(gradient_of(x, select(x, 1, -1)), {0.0, 0.0, 1.0, 0.0, 0.0, 2.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(joined_parts_get_their_share_of_the_gradient) {
  const Variable a = leaf({1.0, 2.0}, {2, 1});
  const Variable b = leaf({3.0, 4.0, 5.0, 6.0}, {2, 2});
  const std::array<Variable, 3> parts{a, b, a};
  expect(concat(parts, 1).value(), {1.0, 3.0, 4.0, 1.0, 2.0, 5.0, 6.0, 2.0}, {2, 4});
  expect(gradient_of(b, concat(parts, 1)), {2.0, 3.0, 6.0, 7.0}, {2, 2});
  expect(gradient_of(a, concat(parts, 1)), {5.0, 13.0}, {2, 1});  // 1+4, 5+8

  const std::array<Variable, 2> rows{leaf({1.0, 2.0}), leaf({3.0, 4.0})};
  expect(stack(rows).value(), {1.0, 2.0, 3.0, 4.0}, {2, 2});
  expect(gradient_of(rows[1], stack(rows, 0)), {3.0, 4.0});
  expect(gradient_of(rows[1], stack(rows, 1)), {2.0, 4.0});
}

BOOST_AUTO_TEST_CASE(joined_parts_of_several_dtypes_get_gradients_of_their_own) {
  const Variable single(from_values<float>({1.0F}), RequiresGrad::yes);
  const std::array<Variable, 3> parts{single, leaf({2.0}), from_values<std::int64_t>({3})};
  const Tensor gradient = gradient_of(single, concat(parts));
  BOOST_CHECK(gradient.dtype() == DType::f32);
  expect(gradient, {1.0});
}

BOOST_AUTO_TEST_CASE(parts_of_one_split_give_one_gradient_and_unused_ones_zeros) {
  const Variable x = matrix();
  const auto columns = split(x, 2, 1);
  BOOST_REQUIRE_EQUAL(columns.size(), 2U);
  expect(columns[1].value(), {3.0, 6.0}, {2, 1});
  expect(gradient_of(x, columns[0]), {1.0, 2.0, 0.0, 3.0, 4.0, 0.0}, {2, 3});
  BOOST_CHECK(columns[0].gradient_edge().fn == columns[1].gradient_edge().fn);
  expect(gradient_of(x, split_with_sizes(x, {1, 2}, -1)[1]), {0.0, 1.0, 2.0, 0.0, 3.0, 4.0}, {2, 3});
  expect(gradient_of(x, chunk(x, 2)[1]), {0.0, 0.0, 0.0, 1.0, 2.0, 3.0}, {2, 3});
  expect(gradient_of(x, narrow(x, 1, -2, 1)), {0.0, 1.0, 0.0, 0.0, 2.0, 0.0}, {2, 3});
  BOOST_CHECK(!split(x.detach(), 1)[0].requires_grad());
}

BOOST_AUTO_TEST_CASE(elements_that_are_moved_or_cut_off_get_their_own_gradient) {
  const Variable x = matrix();
  expect(gradient_of(x, flip(x, {0, 1})), {6.0, 5.0, 4.0, 3.0, 2.0, 1.0}, {2, 3});
  expect(gradient_of(x, pad(x, {1, -1})), {2.0, 3.0, 0.0, 5.0, 6.0, 0.0}, {2, 3});  // columns 1 and 2 of 3
  // Columns 2, 1 and 2 of each row.
  expect(gradient_of(x, pad(x, {1, -1}, PadMode::circular)), {2.0, 4.0, 0.0, 5.0, 10.0, 0.0}, {2, 3});
  for (const std::vector<std::int64_t>& amounts : {std::vector<std::int64_t>{-5, 7}, {7, -5}, {0, 0, -3, 4}})
    expect(gradient_of(x, pad(x, amounts, 0.5)), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {2, 3});
  expect(gradient_of(x, tril(x)), {1.0, 0.0, 0.0, 4.0, 5.0, 0.0}, {2, 3});
  expect(gradient_of(x, triu(x, 1)), {0.0, 2.0, 3.0, 0.0, 0.0, 6.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return tanh(reshape(transpose(v[0]), {2, 3})); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(slice(transpose(v[0]), 0, 1)); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(select(v[0], 0, 1)) * select(v[0], 0, 0); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(expand(unsqueeze(v[0], 1), {2, 2, 3})); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(concat(v, -1)); }, {matrix(), matrix()});
  expect_gradcheck([](Inputs v) { return tanh(stack(v, -1)); }, {matrix(), matrix()});
  expect_gradcheck([](Inputs v) { return split(v[0], 2, 1)[0] * tanh(narrow(v[0], 1, 1, 2)); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(flip(v[0], 1)) * tril(v[0]) + triu(v[0], -1); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(pad(v[0], {-1, 2, 1, 0}, 0.5)); }, {matrix()});
  for (const PadMode mode : {PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    expect_gradcheck([mode](Inputs v) { return tanh(pad(v[0], {2, -1, 1, 1}, mode)); }, {matrix()});
  }
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>([] { (void)concat(std::span<const Variable>()); }, "[concat] no tensors");
  expect_throw<IndexError>([] { (void)select(matrix(), 1, 3); }, "[select] index out of range: 3 of 3");
}

BOOST_AUTO_TEST_CASE(what_is_moved_or_dropped_gets_its_gradient_back_in_place) {
  const Variable x = leaf({1, 2, 3, 4, 5, 6}, {2, 3});
  // roll(x, {1, 1}) is [[6, 4, 5], [3, 1, 2]]: element 1 has weight 5, 2 has 6, 3 has 4, ...
  expect(gradient_of(x, roll(x, {1, 1}, {0, 1})), {5, 6, 4, 2, 3, 1}, {2, 3});
  expect(gradient_of(x, roll(x, 1)), {2, 3, 4, 5, 6, 1}, {2, 3});
  expect(gradient_of(x, roll(x, std::vector<std::int64_t>{}, std::vector<int>{})), {1, 2, 3, 4, 5, 6}, {2, 3});
  expect(gradient_of(x, squeeze(reshape(x, {1, 2, 1, 3}))), {1, 2, 3, 4, 5, 6}, {2, 3});
  const Variable column = leaf({1, 2}, {2, 1});
  expect(gradient_of(column, expand(column, {-1, 3})), {6, 15}, {2, 1});  // 1 + 2 + 3, 4 + 5 + 6
  expect_throw<ShapeError>([&] { (void)roll(x, {1, 2}, {0}); }, "[roll] 2 shifts for 1 dimensions");
}

BOOST_AUTO_TEST_CASE(members_of_a_variable_are_the_operations_with_their_gradients) {
  const Variable x = matrix();
  expect(x[1].value(), {4.0, 5.0, 6.0}, {3});
  expect(x[-1][0].value(), {4.0}, {});
  expect(x.view({3, 2}).value(), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 2});
  expect(x.slice(1, 1).value(), {2.0, 3.0, 5.0, 6.0}, {2, 2});
  expect(x.select(1, 0).value(), {1.0, 4.0}, {2});
  expect_gradcheck([](Inputs v) { return tanh(v[0][1]) * v[0][0]; }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(v[0].view({3, -1})); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(v[0].slice(1, 0, 3, 2)); }, {matrix()});
  expect_gradcheck([](Inputs v) { return v[0].select(1, 2) * v[0].select(1, 0); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(v[0].clone()); }, {matrix()});
}

BOOST_AUTO_TEST_CASE(gradients_of_a_repeat_of_many_dimensions_are_sums_too) {
  const Variable x = leaf({1.0, 2.0}, {1, 1, 1, 1, 1, 1, 1, 1, 2});
  // Element i has weight i + 1: 1 + 3 + 5 + 7 and 2 + 4 + 6 + 8.
  expect(gradient_of(x, repeat(x, {2, 1, 1, 1, 1, 1, 1, 1, 2})), {16.0, 20.0}, {1, 1, 1, 1, 1, 1, 1, 1, 2});
  expect(gradient_of(x, repeat(x, {0, 1, 1, 1, 1, 1, 1, 1, 2})), {0.0, 0.0}, {1, 1, 1, 1, 1, 1, 1, 1, 2});
}

BOOST_AUTO_TEST_CASE(a_view_of_a_variable_shares_its_memory_and_a_clone_does_not) {
  const Variable x = matrix();
  BOOST_CHECK(x.view({6}).value().bytes() == x.value().bytes());
  BOOST_CHECK(x.clone().value().bytes() != x.value().bytes());
  BOOST_CHECK(!same(x.clone(), x));
  BOOST_CHECK(same_bytes(x.clone().value(), x.value()));
  BOOST_CHECK_THROW(static_cast<void>(transpose(x).view({6})), ShapeError);
}

BOOST_AUTO_TEST_SUITE_END()
