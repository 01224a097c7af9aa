#include "tensor/create.h"
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
  // 2^24 + 1 is no f32; a sum in f32 would stay at 2^24.
  expect_same(cumsum(from_values<float>({16777216, 1, 1}), 0), from_values<float>({16777216, 16777216, 16777218}));
  // The same in f16, whose integers end at 2^11.
  expect_same(cumsum(from_values<float>({2048, 1, 1}).to(DType::f16), 0), from_values<float>({2048, 2048, 2050}).to(DType::f16));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_summed_is_named) {
  expect_error<ShapeError>("[cumsum] dimension out of range: 1 of (3)", [] { (void)cumsum(zeros({3}), 1); });
  expect_error<TensorError>("[cumsum] tensor is undefined", [] { (void)cumsum(Tensor(), 0); });
}

BOOST_AUTO_TEST_SUITE_END()
