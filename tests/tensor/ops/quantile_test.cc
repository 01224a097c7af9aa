#include <cstdint>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_quantile)

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor matrix() { return from_values<float>({4, 1, 3, 2, 5, 0, 7, 6}, {2, 4}); }

}  // namespace

BOOST_AUTO_TEST_CASE(median_is_the_lower_of_two_in_the_middle) {
  expect_same(median(matrix()), scalar(3.0F));  // 0 1 2 3 | 4 5 6 7
  const Sorted rows = median(matrix(), 1);
  expect_same(rows.values, from_values<float>({2, 5}));  // 1 2 | 3 4 and 0 5 | 6 7
  expect_same(rows.indices, from_values<std::int64_t>({3, 0}));
  expect_same(median(matrix().transpose(), 0, KeepDim::yes).values, from_values<float>({2, 5}, {1, 2}));
  expect_same(median(scalar(7.0F)), scalar(7.0F));
  for (const DType dtype : kDTypes) {
    expect_same(median(from_values<std::int64_t>({1, 0, 1}).to(dtype)), scalar<std::int64_t>(1).to(dtype));
  }
}

BOOST_AUTO_TEST_CASE(median_of_numbers_and_a_nan_is_nan) {
  const Tensor x = from_values<float>({1, kNan, 3, 2, kInf, kNan, 1, 2, 3}, {3, 3});
  const Sorted rows = median(x, 1);
  expect_same(isnan(rows.values), from_values<bool>({true, true, false}));
  expect_same(rows.indices, from_values<std::int64_t>({1, 2, 1}));
  BOOST_CHECK(isnan(median(x)).item<bool>());
  const Sorted middle = median(concat({zeros({500}), from_values<float>({kNan, 1, kNan}), ones({500})}), 0);
  BOOST_CHECK(isnan(middle.values).item<bool>());
  expect_same(middle.indices, scalar<std::int64_t>(500));
}

BOOST_AUTO_TEST_CASE(median_is_the_element_that_a_stable_sort_puts_into_the_middle) {
  Generator generator(6);
  for (const std::int64_t size : {1, 2, 3, 50, 3001}) {
    const Tensor numbers = uniform({4, size}, -90.0, 90.0, generator, DType::f64);
    for (const DType dtype : {DType::i8, DType::i32, DType::i64, DType::f32, DType::f64, DType::bf16}) {
      for (const Tensor& x : {numbers.to(dtype), floor(div(numbers, 30.0)).to(dtype)}) {  // the latter has equal ones
        const Tensor places = narrow(argsort(x, 1), 1, (size - 1) / 2, 1);
        expect_same(median(x, 1, KeepDim::yes).indices, places.contiguous());
        expect_same(median(x, 1, KeepDim::yes).values, gather(x, 1, places.contiguous()));
        expect_same(median(x.transpose().contiguous(), 0).indices, places.reshape({4}));
      }
    }
  }
  expect_same(median(from_values<float>({0.0F, -0.0F, 1})), scalar(-0.0F));  // zeros are equal
}

BOOST_AUTO_TEST_CASE(quantile_is_between_two_elements_in_proportion) {
  const Tensor x = from_values<float>({8, 0, 4, 2});  // 0 2 4 8
  expect_same(quantile(x, 0.0), scalar(0.0F));
  expect_same(quantile(x, 1.0), scalar(8.0F));
  expect_same(quantile(x, 0.5), scalar(3.0F));
  expect_same(quantile(x, 0.75), scalar(5.0F));     // at 2.25: 4 + (8 - 4) / 4
  expect_same(quantile(x, 0.8125), scalar(5.75F));  // at 2.4375
  expect_same(quantile(matrix(), {0.0, 0.5, 1.0}, 1), from_values<float>({1, 0, 2.5F, 5.5F, 4, 7}, {3, 2}));
  expect_same(quantile(matrix().transpose(), 0.5, 0, KeepDim::yes), from_values<float>({2.5F, 5.5F}, {1, 2}));
  expect_same(quantile(matrix(), std::vector<double>{0.5}, 1, KeepDim::yes),
              from_values<float>({2.5F, 5.5F}, {1, 2, 1}));
  expect_same(quantile(from_values<std::int64_t>({1, 2}), 0.5), scalar(1.5F));
  expect_same(quantile(scalar(7.0F), 0.3), scalar(7.0F));
  Generator generator(3);
  expect_rounded([](const Tensor& y) { return quantile(y, 0.3, 1); }, randn({5, 40}, generator));
}

BOOST_AUTO_TEST_CASE(quantiles_beside_infinities_and_nan) {
  const Tensor x = from_values<float>({1, 2, kInf});
  expect_same(quantile(x, 0.5), scalar(2.0F));
  expect_same(quantile(x, 0.625), scalar(kInf));  // at 1.25
  expect_same(quantile(x, 1.0), scalar(kInf));
  const Tensor rows = from_values<float>({1, kNan, 2, 1, 2, 3}, {2, 3});
  expect_same(isnan(quantile(rows, 0.0, 1)), from_values<bool>({true, false}));
}

BOOST_AUTO_TEST_CASE(what_has_no_middle_is_named) {
  expect_error<ShapeError>("[median] no elements: (0, 3)", [] { (void)median(zeros({0, 3})); });
  expect_error<ShapeError>("[median] no elements: (3, 0)", [] { (void)median(zeros({3, 0}), 1); });
  expect_error<ShapeError>("[median] dimension out of range: 2 of (3, 0)", [] { (void)median(zeros({3, 0}), 2); });
  expect_error<TensorError>("[median] tensor is undefined", [] { (void)median(Tensor()); });
  expect_error<TensorError>("[median] tensor is undefined", [] { (void)median(Tensor(), 0); });
  expect_error<ShapeError>("[quantile] no elements: (3, 0)", [] { (void)quantile(zeros({3, 0}), 0.5, 1); });
  expect_error<ShapeError>("[quantile] no elements: (0)", [] { (void)quantile(zeros({3, 0}), 0.5); });
  expect_error<ValueError>("[quantile] q outside [0, 1]: 1.5", [] { (void)quantile(zeros({3}), 1.5); });
  expect_error<ValueError>("[quantile] q outside [0, 1]: nan", [] { (void)quantile(zeros({3}), {0.5, kNan}, 0); });
  expect_error<TensorError>("[quantile] tensor is undefined", [] { (void)quantile(Tensor(), 0.5); });
  BOOST_CHECK_EQUAL(median(zeros({0, 3}), 1).values.shape(), (Shape{0}));
  BOOST_CHECK_EQUAL(quantile(zeros({0, 3}), 0.5, 1).shape(), (Shape{0}));
}

BOOST_AUTO_TEST_SUITE_END()
