#include "tensor/ops/bits.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_bits)

BOOST_AUTO_TEST_CASE(bits_are_joined_one_by_one) {
  for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64}) {
    const Tensor a = from_values<std::int64_t>({0b1100, 0b0101}).to(dtype);
    const Tensor b = from_values<std::int64_t>({0b1010, 0b0110}).to(dtype);
    expect_same(bitwise_and(a, b), from_values<std::int64_t>({0b1000, 0b0100}).to(dtype));
    expect_same(bitwise_or(a, b), from_values<std::int64_t>({0b1110, 0b0111}).to(dtype));
    expect_same(bitwise_xor(a, b), from_values<std::int64_t>({0b0110, 0b0011}).to(dtype));
    expect_same(bitwise_and(a, 4), from_values<std::int64_t>({4, 4}).to(dtype));
    expect_same(bitwise_or(a, 3), from_values<std::int64_t>({15, 7}).to(dtype));
    expect_same(bitwise_xor(a, 1), from_values<std::int64_t>({13, 4}).to(dtype));
    expect_same(bitwise_not(a), from_values<std::int64_t>({-13, -6}).to(dtype));  // -x - 1, 242 and 249 of u8
  }
}

BOOST_AUTO_TEST_CASE(booleans_are_one_bit_each) {
  const Tensor a = from_values<bool>({false, false, true, true});
  const Tensor b = from_values<bool>({false, true, false, true});
  expect_same(bitwise_and(a, b), logical_and(a, b));
  expect_same(bitwise_or(a, b), logical_or(a, b));
  expect_same(bitwise_xor(a, b), logical_xor(a, b));
  expect_same(bitwise_not(a), logical_not(a));
  expect_same(bitwise_and(a, 1), a);
  expect_same(bitwise_or(a, 0), a);
  expect_same(bitwise_xor(a, 1), logical_not(a));
  expect_same(bitwise_xor(a, from_values<std::int16_t>({7, 7, 7, 7})), from_values<std::int16_t>({7, 7, 6, 6}));
  expect_error<DTypeError>("[bitwise_or] not a value of boolean: 2", [&] { (void)bitwise_or(a, 2); });
}

BOOST_AUTO_TEST_CASE(shifts_multiply_and_divide_by_powers_of_2) {
  const Tensor x = from_values<std::int32_t>({5, -5, 1});
  expect_same(bitwise_left_shift(x, from_values<std::int32_t>({0, 2, 31})),
              from_values<std::int32_t>({5, -20, std::numeric_limits<std::int32_t>::min()}));
  expect_same(bitwise_right_shift(x, 1), from_values<std::int32_t>({2, -3, 0}));
  expect_same(bitwise_left_shift(from_values<std::int8_t>({65}), 1), from_values<std::int8_t>({-126}));  // 130 - 256
  expect_same(bitwise_right_shift(from_values<std::uint8_t>({200}), 3), from_values<std::uint8_t>({25}));
  expect_same(bitwise_left_shift(from_values<std::int64_t>({3}), 40),
              from_values<std::int64_t>({std::int64_t{3} << 40}));
}

BOOST_AUTO_TEST_CASE(a_shift_by_all_places_or_by_less_than_0_leaves_the_sign) {
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64}) {
    const Tensor x = from_values<std::int64_t>({5, -5}).to(dtype);
    const double places = static_cast<double>(size_of(dtype) * 8);
    for (const double by : {places, places + 40, -1.0, -100.0}) {
      expect_same(bitwise_left_shift(x, by), from_values<std::int64_t>({0, 0}).to(dtype));
      expect_same(bitwise_right_shift(x, by), from_values<std::int64_t>({0, -1}).to(dtype));
    }
  }
}

BOOST_AUTO_TEST_CASE(operands_broadcast_and_other_dtypes_are_refused) {
  const Tensor column = from_values<std::int32_t>({1, 2}, {2, 1});
  const Tensor row = from_values<std::int64_t>({3, 4, 5});
  expect_same(bitwise_or(column, row), from_values<std::int64_t>({3, 5, 5, 3, 6, 7}, {2, 3}));
  expect_same(bitwise_or(column.expand({2, 3}).transpose(), row.unsqueeze(1)).transpose().contiguous(),
              bitwise_or(column, row));
  BOOST_CHECK_EQUAL(bitwise_xor(zeros({0, 3}, DType::i64), row).shape(), (Shape{0, 3}));
  const Tensor x = zeros({2});
  const Tensor whole = arange(2);
  expect_error<DTypeError>("[bitwise_and] not defined for f32", [&] { (void)bitwise_and(x, whole); });
  expect_error<DTypeError>("[bitwise_not] not defined for f32", [&] { (void)bitwise_not(x); });
  expect_error<DTypeError>("[bitwise_left_shift] not defined for f32", [&] { (void)bitwise_left_shift(whole, x); });
  const Tensor truth = ones({1}, DType::boolean);
  expect_error<DTypeError>("[bitwise_right_shift] not defined for boolean",
                           [&] { (void)bitwise_right_shift(truth, truth); });
  expect_same(bitwise_left_shift(truth, 2), full({1}, 4, DType::i64));
  expect_error<DTypeError>("[bitwise_and] not a value of i64: 0.5", [&] { (void)bitwise_and(whole, 0.5); });
  expect_error<ShapeError>("[bitwise_or] shapes do not broadcast: (2) and (3)", [&] { (void)bitwise_or(whole, row); });
  expect_error<TensorError>("[bitwise_xor] tensor is undefined", [&] { (void)bitwise_xor(whole, Tensor()); });
  expect_error<TensorError>("[bitwise_not] tensor is undefined", [] { (void)bitwise_not(Tensor()); });
}

BOOST_AUTO_TEST_SUITE_END()
