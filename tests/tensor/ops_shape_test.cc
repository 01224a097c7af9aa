#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_shape)

BOOST_AUTO_TEST_CASE(concat_joins_along_a_dimension) {
  const Tensor a = from_values<float>({1, 2}, {1, 2});
  const Tensor b = from_values<float>({3, 4, 5, 6}, {2, 2});
  expect_same(concat({a, b}), from_values<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
  expect_same(concat({b, b.transpose()}, -1), from_values<float>({3, 4, 3, 5, 5, 6, 4, 6}, {2, 4}));
  expect_same(concat({a, zeros({0, 2})}), a);
  expect_same(concat({a, a.to(DType::i64)}), from_values<float>({1, 2, 1, 2}, {2, 2}));
}

BOOST_AUTO_TEST_CASE(concat_refuses_what_does_not_fit) {
  expect_error<ShapeError>("[concat] no tensors", [] { (void)concat({}); });
  expect_error<ShapeError>("[concat] shapes differ beside dimension 0: (2, 3) and (2, 4)", [] {
    (void)concat({zeros({2, 3}), zeros({2, 4})});
  });
  expect_error<ShapeError>("[concat] shapes differ beside dimension 0: (2) and (2, 4)", [] {
    (void)concat({zeros({2}), zeros({2, 4})});
  });
  expect_error<ShapeError>("[concat] dimension out of range: 0 of ()", [] { (void)concat({scalar(1.0F)}); });
  expect_error<TensorError>("[concat] tensor is undefined", [] { (void)concat({zeros({1}), Tensor()}); });
}

BOOST_AUTO_TEST_CASE(stack_joins_along_a_new_dimension) {
  const Tensor a = from_values<float>({1, 2});
  const Tensor b = from_values<float>({3, 4});
  expect_same(stack({a, b}), from_values<float>({1, 2, 3, 4}, {2, 2}));
  expect_same(stack({a, b}, 1), from_values<float>({1, 3, 2, 4}, {2, 2}));
  expect_same(stack({a, b}, -1), from_values<float>({1, 3, 2, 4}, {2, 2}));
  expect_same(stack({scalar(1.0F), scalar(2.0F)}), a);
  expect_error<ShapeError>("[stack] shapes differ: (2) and (3)", [] { (void)stack({zeros({2}), zeros({3})}); });
  expect_error<ShapeError>("[stack] no tensors", [] { (void)stack({}); });
}

BOOST_AUTO_TEST_CASE(flatten_joins_neighbouring_dimensions) {
  const Tensor x = zeros({2, 3, 4, 5});
  BOOST_CHECK_EQUAL(flatten(x).shape(), Shape{120});
  BOOST_CHECK_EQUAL(flatten(x, 1).shape(), (Shape{2, 60}));
  BOOST_CHECK_EQUAL(flatten(x, 1, 2).shape(), (Shape{2, 12, 5}));
  BOOST_CHECK_EQUAL(flatten(scalar(1.0F)).shape(), Shape{1});
  BOOST_CHECK_EQUAL(flatten(zeros({0, 4}), 1).shape(), (Shape{0, 4}));
  expect_error<ShapeError>("[flatten] first dimension after the last: 2 > 1", [&] { (void)flatten(x, 2, 1); });
}

BOOST_AUTO_TEST_CASE(free_functions_are_the_views_of_tensor) {
  const Tensor x = arange(6).reshape({2, 3});
  expect_same(transpose(x), x.transpose());
  expect_same(reshape(x, {3, 2}), x.reshape({3, 2}));
  expect_same(squeeze(unsqueeze(x, 1), 1), x);
  expect_same(expand(x, {2, 2, 3}), x.expand({2, 2, 3}));
}

BOOST_AUTO_TEST_SUITE_END()
