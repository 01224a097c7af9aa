#include <limits>

#include "tensor/create.h"
#include "tensor/generator.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_scan)

BOOST_AUTO_TEST_CASE(cumsum_adds_up_along_a_dimension) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_same(cumsum(x, 1), from_values<float>({1, 3, 6, 4, 9, 15}, {2, 3}));
  expect_same(cumsum(x, 0), from_values<float>({1, 2, 3, 5, 7, 9}, {2, 3}));
  expect_same(cumsum(x.transpose(), 0), from_values<float>({1, 4, 3, 9, 6, 15}, {3, 2}));
  expect_same(cumsum_backward(x, -1), from_values<float>({6, 5, 3, 15, 11, 6}, {2, 3}));
  expect_same(cumsum(zeros({0, 2}), 0), zeros({0, 2}));
}

BOOST_AUTO_TEST_CASE(integers_sum_to_i64_and_f32_sums_run_in_f64) {
  expect_same(cumsum(from_values<std::uint8_t>({200, 100}), 0), from_values<std::int64_t>({200, 300}));
  expect_same(cumsum(from_values<bool>({true, true}), 0), from_values<std::int64_t>({1, 2}));
  // f32 cannot represent 2^24 + 1: a sum in f32 would stay at 2^24.
  expect_same(cumsum(from_values<float>({16777216, 1, 1}), 0), from_values<float>({16777216, 16777216, 16777218}));
  // The same in f16, where consecutive integers end at 2^11.
  expect_same(cumsum(from_values<float>({2048, 1, 1}).to(DType::f16), 0),
              from_values<float>({2048, 2048, 2050}).to(DType::f16));
}

BOOST_AUTO_TEST_CASE(cumprod_multiplies_along_a_dimension) {
  const Tensor x = from_values<float>({1, 2, 3, 4, 0, 6}, {2, 3});
  expect_same(cumprod(x, 1), from_values<float>({1, 2, 6, 4, 0, 0}, {2, 3}));
  expect_same(cumprod(x, 0), from_values<float>({1, 2, 3, 4, 0, 18}, {2, 3}));
  expect_same(cumprod(x.transpose(), 0), from_values<float>({1, 4, 2, 0, 6, 0}, {3, 2}));
  expect_same(cumprod(zeros({2, 0}), 1), zeros({2, 0}));
  expect_same(cumprod(from_values<std::int8_t>({100, 2, -3}), 0), from_values<std::int64_t>({100, 200, -600}));
  // 16e18 - 2^64; -64e27 modulo 2^64.
  expect_same(cumprod(full({3}, -4e9, DType::i64), 0),
              from_values<std::int64_t>({-4000000000, -2446744073709551616, 855667187417874432}));
  // In f32 the last product would be infinite too.
  expect_same(cumprod(from_values<float>({0x1p100F, 0x1p100F, 0x1p-100F}), 0),
              from_values<float>({0x1p100F, std::numeric_limits<float>::infinity(), 0x1p100F}));
}

BOOST_AUTO_TEST_CASE(cummax_and_cummin_say_the_largest_so_far_and_where) {
  const Tensor x = from_values<float>({2, 1, 2, 3, 5, 4}, {2, 3});
  expect_same(cummax(x, 1).values, from_values<float>({2, 2, 2, 3, 5, 5}, {2, 3}));
  expect_same(cummax(x, 1).indices, from_values<std::int64_t>({0, 0, 2, 0, 1, 1}, {2, 3}));  // the last of equal ones
  expect_same(cummin(x, -1).values, from_values<float>({2, 1, 1, 3, 3, 3}, {2, 3}));
  expect_same(cummin(x, -1).indices, from_values<std::int64_t>({0, 1, 1, 0, 0, 0}, {2, 3}));
  expect_same(cummax(x.transpose(), 1).indices, from_values<std::int64_t>({0, 1, 0, 1, 0, 1}, {3, 2}));
  BOOST_CHECK_EQUAL(cummax(zeros({0, 2}), 0).indices.shape(), (Shape{0, 2}));
  for (const DType dtype : kDTypes) {
    const Tensor y = from_values<std::int64_t>({1, 0, 1}).to(dtype);
    expect_same(cummin(y, 0).values, from_values<std::int64_t>({1, 0, 0}).to(dtype));
    expect_same(cummax(y, 0).indices, from_values<std::int64_t>({0, 0, 2}));
  }
}

BOOST_AUTO_TEST_CASE(a_nan_stays_the_largest_and_the_smallest) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = from_values<float>({1, nan, 2, nan, 3});
  expect_same(cummax(x, 0).indices, from_values<std::int64_t>({0, 1, 1, 3, 3}));
  expect_same(cummin(x, 0).indices, from_values<std::int64_t>({0, 1, 1, 3, 3}));
}

BOOST_AUTO_TEST_CASE(extremes_of_long_lines_are_those_that_their_definition_says) {
  Generator generator(9);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor numbers = floor(uniform({3, 2, 211}, -40.0, 40.0, generator, DType::f64));  // some elements are equal
  const Tensor nans = logical_and(lt(uniform({3, 2, 211}, 0.0, 1.0, generator), 0.01), gt(numbers, 0.0));
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64, DType::i8, DType::bf16}) {
    const Tensor x = is_floating(dtype) ? where(nans, nan, numbers).to(dtype) : numbers.to(dtype);
    const auto at = [&](std::int64_t line, std::int64_t i) { return x.view({6, 211}).select(0, line).select(0, i); };
    const Sorted found = cummax(x, 2);
    for (std::int64_t line = 0; line < 6; ++line) {
      double best = at(line, 0).item();
      std::int64_t place = 0;
      for (std::int64_t i = 0; i < 211; ++i) {
        const double value = at(line, i).item();
        if (value >= best || value != value) {
          best = value;
          place = i;
        }
        BOOST_REQUIRE_EQUAL(found.indices.view({6, 211}).select(0, line).select(0, i).item<std::int64_t>(), place);
      }
    }
    expect_same(found.values, gather(x, 2, found.indices));
    const Tensor columns = x.transpose(1, 2).contiguous();
    expect_same(cummax(columns, 1).indices, found.indices.transpose(1, 2).contiguous());
    expect_same(cummax(columns, 1).values, found.values.transpose(1, 2).contiguous());
    if (dtype != DType::i8) expect_same(cummin(neg(x), 2).indices, found.indices);
  }
  const Tensor rising = arange(200'000).view({2, 100'000});
  expect_same(cummax(rising, 1).values, rising);
  expect_same(cummin(rising, 1).indices, zeros({2, 100'000}, DType::i64));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_summed_is_named) {
  expect_error<ShapeError>("[cumsum] dimension out of range: 1 of (3)", [] { (void)cumsum(zeros({3}), 1); });
  expect_error<ShapeError>("[cumprod] dimension out of range: 1 of (3)", [] { (void)cumprod(zeros({3}), 1); });
  expect_error<ShapeError>("[cummax] dimension out of range: 0 of ()", [] { (void)cummax(scalar(1.0F), 0); });
  expect_error<TensorError>("[cummin] tensor is undefined", [] { (void)cummin(Tensor(), 0); });
  expect_error<TensorError>("[cumsum] tensor is undefined", [] { (void)cumsum(Tensor(), 0); });
}

BOOST_AUTO_TEST_SUITE_END()
