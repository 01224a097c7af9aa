#include "autograd/ops/arrange.h"

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_arrange)

namespace {

Variable matrix() { return leaf({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3}); }

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_of_a_diagonal_go_where_it_was) {
  const Variable x = matrix();
  expect(gradient_of(x, diagonal(x, 1)), {0.0, 1.0, 0.0, 0.0, 0.0, 2.0}, {2, 3});
  expect(gradient_of(x, diag(x)), {1.0, 0.0, 0.0, 0.0, 2.0, 0.0}, {2, 3});
  expect(gradient_of(x, trace(x)), {1.0, 0.0, 0.0, 0.0, 1.0, 0.0}, {2, 3});
  const Variable line = leaf({7.0, 8.0});
  expect(gradient_of(line, diag(line, 1)), {2.0, 6.0});  // at places 1 and 5 of (3, 3)
  expect(gradient_of(x, diag_embed(x)), {1.0, 5.0, 9.0, 10.0, 14.0, 18.0}, {2, 3});
}

BOOST_AUTO_TEST_CASE(parts_that_were_not_used_have_a_gradient_of_zero) {
  const Variable x = matrix();
  expect(gradient_of(x, unbind(x, 1)[1]), {0.0, 1.0, 0.0, 0.0, 2.0, 0.0}, {2, 3});
  BOOST_CHECK(unbind(leaf({}, {0, 3})).empty());
}

BOOST_AUTO_TEST_CASE(what_was_repeated_collects_its_gradients) {
  const Variable x = leaf({1.0, 2.0});
  expect(gradient_of(x, repeat_interleave(x, 2, 0)), {3.0, 7.0});  // 1 + 2, 3 + 4
  expect(gradient_of(x, repeat_interleave(x, from_values<std::int64_t>({3, 1}), 0)), {6.0, 4.0});
  expect(gradient_of(x, repeat_interleave(x, 0, 0)), {0.0, 0.0});
  expect(gradient_of(x, tile(x, {2})), {4.0, 6.0});
  const std::vector<Variable> both{x, leaf({1.0, 1.0, 1.0})};
  expect(gradient_of(x, meshgrid(both)[0]), {6.0, 15.0});                 // rows of 1 ... 6
  expect(gradient_of(x, meshgrid(both, MeshOrder::xy)[0]), {9.0, 12.0});  // 1 + 3 + 5, 2 + 4 + 6
}

BOOST_AUTO_TEST_CASE(differences_give_to_what_comes_after_and_take_from_what_comes_before) {
  const Variable x = leaf({1.0, 4.0, 9.0});
  expect(diff(x).value(), {3.0, 5.0});
  expect(gradient_of(x, diff(x)), {-1.0, -1.0, 2.0});
  expect(gradient_of(x, diff(x, 2)), {1.0, -2.0, 1.0});
  expect(gradient_of(x, diff(x, 5)), {0.0, 0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(joined_and_moved_variables_have_their_values) {
  const Variable x = matrix();
  const std::vector<Variable> parts{leaf({7.0, 8.0, 9.0}), x};
  expect(vstack(parts).value(), {7.0, 8.0, 9.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {3, 3});
  const std::vector<Variable> lines{leaf({1.0}), leaf(2.0)};
  expect(hstack(lines).value(), {1.0, 2.0});
  expect(movedim(x, 0, 1).value(), {1.0, 4.0, 2.0, 5.0, 3.0, 6.0}, {3, 2});
  expect(unflatten(x, 1, {3, -1}).value(), {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, {2, 3, 1});
  expect(expand_as(leaf({1.0, 2.0}, {2, 1}), x).value(), {1.0, 1.0, 1.0, 2.0, 2.0, 2.0}, {2, 3});
  expect(broadcast_to(leaf(3.0), {2}).value(), {3.0, 3.0});
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return tanh(diagonal(v[0], -1, 1, 0)); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(diag_embed(v[0], -1, 2, 0) + 1.0); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(trace(v[0]) * 0.1); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(unbind(v[0], 1)[2] * unbind(v[0], 1)[0] * 0.1); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(repeat_interleave(v[0], 3, 1)); }, {matrix()});
  expect_gradcheck([](Inputs v) { return tanh(diff(v[0], 2)); }, {matrix()});
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>([] { (void)movedim(matrix(), {0, 1}, 0); }, "[movedim] 2 dimensions to 1 places");
  expect_throw<ShapeError>([] { (void)unflatten(matrix(), 1, {2, 2}); }, "[unflatten] 3 into (2, 2)");
  expect_throw<ShapeError>([] { (void)repeat_interleave(matrix(), ones({3}, DType::i64), 0); },
                           "[repeat_interleave] 3 counts for 2 parts");
}

BOOST_AUTO_TEST_SUITE_END()
