#include <limits>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_sort)

BOOST_AUTO_TEST_CASE(sort_puts_rows_in_order_and_says_where_each_was) {
  const Tensor x = from_values<float>({3, 1, 2, -1, 5, 0}, {2, 3});
  const Sorted sorted = sort(x);
  expect_same(sorted.values, from_values<float>({1, 2, 3, -1, 0, 5}, {2, 3}));
  expect_same(sorted.indices, from_values<std::int64_t>({1, 2, 0, 0, 2, 1}, {2, 3}));
  expect_same(sort(x, 0, Order::descending).values, from_values<float>({3, 5, 2, -1, 1, 0}, {2, 3}));
  expect_same(argsort(x, 0), from_values<std::int64_t>({1, 0, 1, 0, 1, 0}, {2, 3}));
  expect_same(sort(x.transpose(), 0).values, from_values<float>({1, -1, 2, 0, 3, 5}, {3, 2}));
}

BOOST_AUTO_TEST_CASE(equal_elements_keep_their_order_and_nan_is_the_largest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = from_values<float>({nan, 1, inf, 1, nan, -inf});
  expect_same(argsort(x), from_values<std::int64_t>({5, 1, 3, 2, 0, 4}));
  expect_same(argsort(x, 0, Order::descending), from_values<std::int64_t>({0, 4, 2, 1, 3, 5}));
  expect_same(argsort(from_values<bool>({true, false, true})), from_values<std::int64_t>({1, 0, 2}));
  for (const DType dtype : {DType::i8, DType::i16, DType::f16, DType::bf16}) {
    expect_same(sort(from_values<std::int64_t>({3, -100, 4, 3}).to(dtype)).values,
                from_values<std::int64_t>({-100, 3, 3, 4}).to(dtype));
  }
  expect_same(sort(from_values<std::uint8_t>({200, 3, 100})).values, from_values<std::uint8_t>({3, 100, 200}));
}

BOOST_AUTO_TEST_CASE(long_rows_are_ordered_as_their_definition_says) {
  Generator generator(8);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor numbers = floor(uniform({2, 5000}, -900.0, 900.0, generator, DType::f64));  // some elements are equal
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64, DType::i8}) {
    Tensor x = numbers.to(dtype);
    if (is_floating(dtype))
      x = where(numbers > 890.0, full({}, nan, dtype), where(numbers < -890.0, full({}, -0.0, dtype), x));
    for (const Order order : {Order::ascending, Order::descending}) {
      const Sorted sorted = sort(x, 1, order);
      const Tensor first = sorted.values.slice(1, 0, 4999);
      const Tensor second = sorted.values.slice(1, 1);
      const Tensor rises = order == Order::ascending ? lt(first, second) : gt(first, second);
      // NaN is the largest: where a comparison with it is false, it is in its correct place.
      const Tensor towards_nan = order == Order::ascending ? logical_and(isnan(second), logical_not(isnan(first)))
                                                           : logical_and(isnan(first), logical_not(isnan(second)));
      const Tensor equal = logical_or(eq(first, second), logical_and(isnan(first), isnan(second)));
      const Tensor in_order = lt(sorted.indices.slice(1, 0, 4999), sorted.indices.slice(1, 1));
      BOOST_CHECK(all(logical_or(logical_or(rises, towards_nan), logical_and(equal, in_order))).item<bool>());
      expect_same(sort(sorted.indices, 1).values, arange(5000).expand({2, 5000}).contiguous());
    }
  }
}

BOOST_AUTO_TEST_CASE(topk_is_the_beginning_of_the_order) {
  Generator generator(7);
  const Tensor x = randn({5, 40, 3}, generator);
  for (const Order order : {Order::ascending, Order::descending}) {
    const Sorted all = sort(x, 1, order);
    const Sorted top = topk(x, 4, 1, order);
    expect_same(top.values, all.values.slice(1, 0, 4).contiguous());
    expect_same(top.indices, all.indices.slice(1, 0, 4).contiguous());
    for (std::int64_t i = 1; i < 40; ++i) {
      const Tensor before = all.values.select(1, i - 1);
      const Tensor after = all.values.select(1, i);
      expect_same(order == Order::ascending ? le(before, after) : ge(before, after), ones({5, 3}, DType::boolean));
    }
  }
  expect_same(topk(from_values<float>({1, 3, 2}), 2).indices, from_values<std::int64_t>({1, 2}));
  BOOST_CHECK_EQUAL(topk(x, 0, 1).values.shape(), (Shape{5, 0, 3}));
  BOOST_CHECK_EQUAL(sort(zeros({0, 3})).indices.shape(), (Shape{0, 3}));
}

BOOST_AUTO_TEST_CASE(what_has_no_order_is_named) {
  expect_error<ValueError>("[topk] k is 5, dimension 0 has 3", [] { (void)topk(zeros({3}), 5); });
  expect_error<ValueError>("[topk] k is -1, dimension 0 has 3", [] { (void)topk(zeros({3}), -1); });
  expect_error<ShapeError>("[sort] dimension out of range: 1 of (3)", [] { (void)sort(zeros({3}), 1); });
  expect_error<TensorError>("[sort] tensor is undefined", [] { (void)sort(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
