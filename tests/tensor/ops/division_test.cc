#include "tensor/ops/division.h"

#include <cmath>
#include <limits>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_division)

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

using Function = Tensor (*)(const Tensor&, const Tensor&);
using OfNumber = Tensor (*)(const Tensor&, double);

}  // namespace

BOOST_AUTO_TEST_CASE(remainders_have_the_sign_of_the_dividend_or_of_the_divisor) {
  const Tensor a = from_values<double>({7, -7, 7, -7, 5.5, 6});
  const Tensor b = from_values<double>({3, 3, -3, -3, 2, -2});
  expect_same(fmod(a, b), from_values<double>({1, -1, 1, -1, 1.5, 0}));
  expect_same(remainder(a, b), from_values<double>({1, 2, -2, -1, 1.5, 0}));
  expect_same(floor_divide(a, b), from_values<double>({2, -3, -3, 2, 2, -3}));
  for (const DType dtype : {DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::bf16, DType::f32}) {
    const Tensor x = a.slice(0, 0, 4).to(dtype);
    const Tensor y = b.slice(0, 0, 4).to(dtype);
    expect_same(fmod(x, y), from_values<double>({1, -1, 1, -1}).to(dtype));
    expect_same(remainder(x, y), from_values<double>({1, 2, -2, -1}).to(dtype));
    expect_same(floor_divide(x, y), from_values<double>({2, -3, -3, 2}).to(dtype));
  }
  expect_same(floor_divide(from_values<std::uint8_t>({200, 7}), from_values<std::uint8_t>({3, 200})),
              from_values<std::uint8_t>({66, 0}));
}

BOOST_AUTO_TEST_CASE(the_divisor_or_the_dividend_may_be_a_number) {
  const Tensor a = from_values<std::int64_t>({7, -7});
  expect_same(fmod(a, 3), from_values<std::int64_t>({1, -1}));
  expect_same(remainder(a, 3), from_values<std::int64_t>({1, 2}));
  expect_same(remainder(-5, a), from_values<std::int64_t>({2, -5}));
  expect_same(floor_divide(a, -2), from_values<std::int64_t>({-4, 3}));
  const Tensor x = from_values<float>({7.5F, -7.5F});
  expect_same(fmod(x, 2), from_values<float>({1.5F, -1.5F}));
  expect_same(remainder(x, 2), from_values<float>({1.5F, 0.5F}));
  expect_same(remainder(9, x), from_values<float>({1.5F, -6}));
  expect_same(floor_divide(x, 2), from_values<float>({3, -4}));
  expect_same(fmod(a, 1.5), from_values<float>({1, -1}));
  expect_error<DTypeError>("[fmod] not a value of i8: 300", [&] { (void)fmod(a.to(DType::i8), 300); });
}

BOOST_AUTO_TEST_CASE(operands_broadcast_and_promote) {
  const Tensor column = from_values<std::int32_t>({7, -7}, {2, 1});
  const Tensor row = from_values<float>({2, -4});
  expect_same(fmod(column, row), from_values<float>({1, 3, -1, -3}, {2, 2}));
  expect_same(remainder(column, row), from_values<float>({1, -1, 1, -3}, {2, 2}));
  expect_same(floor_divide(column, row), from_values<float>({3, -2, -4, 1}, {2, 2}));
  BOOST_CHECK_EQUAL(fmod(zeros({0, 2}), row).shape(), (Shape{0, 2}));
  expect_same(remainder(scalar(7.0F), scalar(-4.0F)), scalar(-1.0F));
  BOOST_CHECK(floor_divide(ones({1}, DType::u8), ones({1}, DType::i8)).dtype() == DType::i16);
  expect_error<ShapeError>("[remainder] shapes do not broadcast: (2) and (3)",
                           [] { (void)remainder(zeros({2}), zeros({3})); });
  expect_error<ShapeError>("[fmod] shapes do not broadcast: (2) and (3)",
                           [] { (void)fmod(zeros({2}, DType::i64), zeros({3}, DType::i64)); });
}

BOOST_AUTO_TEST_CASE(reals_divided_by_0_are_infinite_and_leave_nan) {
  const Tensor a = from_values<double>({1, -1, 0});
  const Tensor quotients = floor_divide(a, 0.0);
  expect_same(quotients.slice(0, 0, 2), from_values<double>({kInf, -kInf}));
  expect_same(isnan(quotients), from_values<bool>({false, false, true}));
  for (const OfNumber f : {OfNumber(fmod), OfNumber(remainder)}) {
    BOOST_CHECK(all(isnan(f(a, 0.0))).item<bool>());
    BOOST_CHECK(all(isnan(f(full({2}, kInf, DType::f64), 2.0))).item<bool>());
  }
  expect_same(fmod(a, kInf), a);
  expect_same(remainder(a, kInf), from_values<double>({1, kInf, 0}));  // as in Python: the sign of the divisor
  expect_same(floor_divide(a, kInf), from_values<double>({0, -1, 0}));
}

BOOST_AUTO_TEST_CASE(integers_divided_by_0_are_refused) {
  const Tensor a = from_values<std::int64_t>({1, 2});
  const Tensor b = from_values<std::int64_t>({1, 0});
  expect_error<ValueError>("[fmod] an integer is divided by 0", [&] { (void)fmod(a, b); });
  expect_error<ValueError>("[remainder] an integer is divided by 0", [&] { (void)remainder(a, b); });
  expect_error<ValueError>("[floor_divide] an integer is divided by 0", [&] { (void)floor_divide(a, b); });
  expect_error<ValueError>("[floor_divide] an integer is divided by 0", [&] { (void)floor_divide(a, 0); });
  expect_error<ValueError>("[remainder] an integer is divided by 0", [&] { (void)remainder(1, b); });
  expect_error<ValueError>("[fmod] an integer is divided by 0", [&] {
    (void)fmod(a, from_values<bool>({true, false}));
  });
  expect_error<DTypeError>("[fmod] not defined for boolean",
                           [] { (void)fmod(ones({1}, DType::boolean), ones({1}, DType::boolean)); });
  expect_error<TensorError>("[fmod] tensor is undefined", [&] { (void)fmod(a, Tensor()); });
  expect_error<TensorError>("[remainder] tensor is undefined", [] { (void)remainder(1, Tensor()); });
  expect_error<TensorError>("[floor_divide] tensor is undefined", [] { (void)floor_divide(Tensor(), 1); });
}

BOOST_AUTO_TEST_CASE(the_least_integer_divided_by_minus_1_wraps_around) {
  const Tensor least = from_values<std::int64_t>({std::numeric_limits<std::int64_t>::min()});
  expect_same(floor_divide(least, -1), least);
  expect_same(fmod(least, -1), from_values<std::int64_t>({0}));
  expect_same(remainder(least, -1), from_values<std::int64_t>({0}));
  const Tensor small = from_values<std::int32_t>({std::numeric_limits<std::int32_t>::min()});
  expect_same(floor_divide(small, small.slice(0, 0, 1) * 0 - 1), small);
  expect_same(floor_divide(from_values<std::int8_t>({-128}), -1), from_values<std::int8_t>({-128}));
}

BOOST_AUTO_TEST_CASE(remainders_of_huge_quotients_and_tiny_divisors_are_exact) {
  const Tensor a = from_values<float>({3e38F, 1e30F, 1, 3e-39F, -1e30F});
  const Tensor b = from_values<float>({1e-38F, 7e-9F, 1e-40F, 1e-40F, 3});
  const Tensor rest = fmod(a, b);
  for (std::size_t i = 0; i < 5; ++i)
    BOOST_CHECK_EQUAL(rest.data<float>()[i], std::fmod(a.data<float>()[i], b.data<float>()[i]));
  const Tensor wide = fmod(from_values<double>({1e300, 1e-300}), from_values<double>({3e-300, 5e-324}));
  BOOST_CHECK_EQUAL(wide.data<double>()[0], std::fmod(1e300, 3e-300));
  BOOST_CHECK_EQUAL(wide.data<double>()[1], std::fmod(1e-300, 5e-324));
}

BOOST_AUTO_TEST_CASE(a_quotient_is_rounded_down_before_it_is_rounded) {
  // 1 / 0.1 rounds to 10, but the double 0.1 is above a tenth, so it fits 9 times into 1.
  expect_same(floor_divide(from_values<double>({1}), 0.1), from_values<double>({9}));
  expect_same(floor_divide(from_values<double>({-0.5, 0.5}), -4), from_values<double>({0, -1}));
}

BOOST_AUTO_TEST_CASE(every_layout_goes_the_same_way) {
  Generator g(3);
  const Tensor x = uniform({3, 301}, -9.0, 9.0, g);
  const Tensor y = uniform({3, 301}, 0.5, 3.0, g);
  for (const Function f : {Function(fmod), Function(remainder), Function(floor_divide)}) {
    const Tensor expected = f(x, y);
    expect_same(f(x.transpose(), y.transpose()).transpose().contiguous(), expected);
    expect_same(f(x.slice(1, 3, 300, 7), y.slice(1, 3, 300, 7)), expected.slice(1, 3, 300, 7).contiguous());
    expect_same(f(x, y.select(0, 1)).select(0, 1).contiguous(), expected.select(0, 1).contiguous());
    expect_rounded([f](const Tensor& a, const Tensor& b) { return f(a, b); }, x, y);
    for (std::size_t i = 0; i < 903; ++i) {
      const double a = x.data<float>()[i];
      const double b = y.data<float>()[i];
      const double floor = std::floor(a / b);
      const double want = f == Function(fmod) ? std::fmod(a, b) : f == Function(remainder) ? a - b * floor : floor;
      BOOST_CHECK_SMALL(static_cast<double>(expected.data<float>()[i]) - want, 1e-6);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_quotient_is_rounded_as_asked) {
  const Tensor a = from_values<std::int64_t>({-7, 7, -8});
  const Tensor b = from_values<std::int64_t>({2, -2, 2});
  expect_same(div(a, b, Rounding::none), from_values<float>({-3.5, -3.5, -4}));
  expect_same(div(a, b, Rounding::trunc), from_values<std::int64_t>({-3, -3, -4}));
  expect_same(div(a, b, Rounding::floor), from_values<std::int64_t>({-4, -4, -4}));
  expect_same(div(a, 2.0, Rounding::trunc), from_values<std::int64_t>({-3, 3, -4}));
  expect_same(div(a, 2.0, Rounding::floor), from_values<std::int64_t>({-4, 3, -4}));
  expect_same(div(a, 2.5, Rounding::trunc), from_values<float>({-2, 2, -3}));  // -2.8, 2.8, -3.2
  expect_same(div(a.to(DType::f64), b.to(DType::f64), Rounding::trunc), from_values<double>({-3, -3, -4}));
  expect_same(div(a.unsqueeze(1), from_values<std::int64_t>({3, 4}), Rounding::trunc),
              from_values<std::int64_t>({-2, -1, 2, 1, -2, -2}, {3, 2}));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_same(div(from_values<double>({-7, 7}), 0.0, Rounding::floor), from_values<double>({-kInfinity, kInfinity}));
  expect_same(div(from_values<double>({-7, 7}), 0.0, Rounding::trunc), from_values<double>({-kInfinity, kInfinity}));
  for (const Rounding rounding : {Rounding::trunc, Rounding::floor}) {
    expect_error<ValueError>("[div] an integer is divided by 0", [&] { (void)div(a, 0.0, rounding); });
    expect_error<ValueError>("[div] an integer is divided by 0",
                             [&] { (void)div(a, zeros({3}, DType::i64), rounding); });
    expect_error<ShapeError>("[div] shapes do not broadcast: (3) and (2)",
                             [&] { (void)div(a, ones({2}, DType::i64), rounding); });
    expect_error<TensorError>("[div] tensor is undefined", [&] { (void)div(Tensor(), a, rounding); });
  }
}

BOOST_AUTO_TEST_SUITE_END()
