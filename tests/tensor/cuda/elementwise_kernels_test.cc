// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/elementwise_kernels.h"

#include <cmath>
#include <limits>

#include "tensor/cuda/convert_kernels.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/cuda/layouts.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_elementwise_kernels)

namespace {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::UnaryOp;
using testing::layouts_of;

// (2, 3, 5) values from -3 to 4 that 16-bit floats represent exactly; integers are rounded toward 0.
Tensor values(DType dtype, double shift = 0.0) {
  Tensor x = arange(-3.0, 4.5, 0.25, DType::f64).view({2, 3, 5});
  return (x + shift).to(dtype);
}

Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype()); }

// 2 units in the last place on each side.
double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-15;
    case DType::f32: return 5e-7;
    case DType::f16: return 2e-3;
    default: return 1.6e-2;  // one step of bf16, where the f32 value is at a tie
  }
}

void expect_as_cpu(UnaryOp op, const Tensor& x, const Tensor& same_values) {
  Tensor got = like(x);
  Tensor expected = like(x);
  cuda::unary_with(kHost, op, got, x);
  cpu::unary_kernels.unary(op, expected, same_values);
  BOOST_TEST_CONTEXT("operation " << static_cast<int>(op)) {
    if (op < UnaryOp::exp || op == UnaryOp::sqrt || op == UnaryOp::rsqrt) expect_same(got, expected);
    else
      expect_close(where(eq(got, got), got, zeros_like(got)), where(eq(expected, expected), expected, zeros_like(got)),
                   tolerance(x.dtype()), 1e-7);
    expect_same(ne(got, got), ne(expected, expected));
  }
}

void expect_as_cpu(BinaryOp op, const Tensor& a, const Tensor& b) {
  Tensor got = like(a);
  Tensor expected = like(a);
  cuda::binary_with(kHost, op, got, a, b);
  cpu::binary_kernels.binary(op, expected, a, b);
  const bool exact = op <= BinaryOp::copysign || (op >= BinaryOp::relu_backward && op <= BinaryOp::sigmoid_backward);
  BOOST_TEST_CONTEXT("operation " << static_cast<int>(op)) {
    if (exact)
      expect_same(where(eq(got, got), got, zeros_like(got)), where(eq(expected, expected), expected, zeros_like(got)));
    else
      expect_close(where(eq(got, got), got, zeros_like(got)), where(eq(expected, expected), expected, zeros_like(got)),
                   tolerance(a.dtype()), 1e-7);
    expect_same(isnan(got), isnan(expected));
  }
}

constexpr auto kNumbers = {DType::u8,  DType::i8,   DType::i16, DType::i32, DType::i64,
                           DType::f16, DType::bf16, DType::f32, DType::f64};

}  // namespace

BOOST_AUTO_TEST_CASE(functions_of_one_operand_are_those_of_the_cpu) {
  for (const DType dtype : kNumbers) {
    const Tensor x = values(dtype);
    for (int op = 0; op <= static_cast<int>(UnaryOp::softplus); ++op) {
      if (!is_floating(dtype) && op >= static_cast<int>(UnaryOp::exp)) break;
      for (const Tensor& view : layouts_of(x)) expect_as_cpu(static_cast<UnaryOp>(op), view, x);
    }
  }
}

// Large walks go in packs of adjacent elements; the last ones, and operands that are not adjacent or aligned, alone.
BOOST_AUTO_TEST_CASE(large_operands_of_any_layout_give_what_the_cpu_gives) {
  Generator generator(5);
  const Tensor flat = randn({73'203}, generator);
  const Tensor x = randn({300, 244}, generator);
  const Tensor row = randn({244}, generator).expand(x.shape());
  const Tensor column = randn({300, 1}, generator).expand(x.shape());
  for (const Tensor& a :
       {flat, flat.slice(0, 1), flat.slice(0, 4), x, x.transpose(), x.slice(1, 0, 243), row, column}) {
    expect_as_cpu(UnaryOp::neg, a, a);
    Tensor got = like(a);
    cuda::binary_with_number(kHost, BinaryOp::sub, got, a, 2.0, cuda::NumberSide::right);
    expect_same(got, a - 2.0);
    cuda::binary_with_number(kHost, BinaryOp::sub, got, a, 2.0, cuda::NumberSide::left);
    expect_same(got, sub(2.0, a));
  }
  for (const Tensor& b : {x + 1.0, row, column, randn({244, 300}, generator).transpose()}) {
    expect_as_cpu(BinaryOp::sub, x, b);
    expect_as_cpu(BinaryOp::div, x, b);
  }
  expect_as_cpu(BinaryOp::sub, flat.slice(0, 4), flat.slice(0, 3, 73'202));
}

BOOST_AUTO_TEST_CASE(functions_of_one_operand_keep_what_is_special) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values<double>({0.0, -0.0, kInf, -kInf, std::nan(""), 0.5, 1.5, 2.5, -100.0, 100.0});
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (int op = 0; op <= static_cast<int>(UnaryOp::softplus); ++op) {
      const auto function = static_cast<UnaryOp>(op);
      const bool of_infinity = function != UnaryOp::sin && function != UnaryOp::cos && function != UnaryOp::tan;
      const Tensor numbers = of_infinity ? x.to(dtype) : x.to(dtype).slice(0, 4).contiguous();
      expect_as_cpu(function, numbers, numbers);
    }
  }
}

BOOST_AUTO_TEST_CASE(functions_of_two_operands_are_those_of_the_cpu) {
  for (const DType dtype : kNumbers) {
    const Tensor a = values(dtype, 3.5);
    // No divisor of integers is 0.
    const Tensor wanted = values(dtype, -0.125);
    const Tensor b = is_floating(dtype) ? wanted : where(eq(wanted, 0.0), full({}, 3.0, dtype), wanted);
    for (int op = 0; op <= static_cast<int>(BinaryOp::softplus_backward); ++op) {
      const bool of_bits = op >= static_cast<int>(BinaryOp::bit_and) && op <= static_cast<int>(BinaryOp::right_shift);
      if (!is_floating(dtype) && op >= static_cast<int>(BinaryOp::div)) break;
      if (is_floating(dtype) && of_bits) continue;
      for (const Tensor& x : layouts_of(a)) expect_as_cpu(static_cast<BinaryOp>(op), x, layouts_of(b)[1]);
      expect_as_cpu(static_cast<BinaryOp>(op), a, b.select(1, 1).unsqueeze(1).expand(a.shape()));
    }
  }
}

BOOST_AUTO_TEST_CASE(functions_of_two_operands_keep_what_is_special) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values<double>({0.0, -0.0, kInf, -kInf, std::nan(""), 0.5, -1.5, 100.0});
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor a = x.to(dtype).unsqueeze(1).expand({8, 8}).contiguous();
    const Tensor b = x.to(dtype).unsqueeze(0).expand({8, 8}).contiguous();
    for (const BinaryOp op :
         {BinaryOp::fmod, BinaryOp::remainder, BinaryOp::floor_divide, BinaryOp::atan2, BinaryOp::hypot,
          BinaryOp::logaddexp, BinaryOp::xlogy, BinaryOp::copysign, BinaryOp::relu_backward}) {
      expect_as_cpu(op, a, b);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_number_is_a_tensor_of_this_one_element_on_either_side) {
  for (const DType dtype : kNumbers) {
    const Tensor x = values(dtype, 4.0);
    for (const BinaryOp op : {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::maximum, BinaryOp::minimum}) {
      Tensor got = like(x);
      Tensor expected = like(x);
      cuda::binary_with_number(kHost, op, got, layouts_of(x)[2], 3.0, cuda::NumberSide::right);
      cpu::binary_kernels.binary(op, expected, x, 3.0);
      expect_same(got, expected);
      cuda::binary_with_number(kHost, op, got, x, 3.0, cuda::NumberSide::left);
      cpu::binary_kernels.binary(op, expected, 3.0, x);
      expect_same(got, expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(an_operand_may_be_wider_than_the_result) {
  const Tensor x = values(DType::f16);
  const Tensor tiny = full({}, 1e-8, DType::f32).expand(x.shape());
  Tensor got = like(x);
  cuda::binary_with(kHost, BinaryOp::div, got, x, tiny);
  Tensor expected = like(x);
  cpu::binary_kernels.binary(BinaryOp::div, expected, x, tiny);
  expect_same(got, expected);
  BOOST_TEST(got.select(0, 0).select(0, 0).select(0, 0).item() == -std::numeric_limits<double>::infinity());
}

BOOST_AUTO_TEST_CASE(results_may_be_written_over_their_operand) {
  Tensor x = values(DType::f32);
  const Tensor expected = x * 2.0;
  cuda::binary_with(kHost, BinaryOp::add, x, x, x);
  expect_same(x, expected);
}

BOOST_AUTO_TEST_CASE(comparisons_and_choices_are_those_of_the_cpu) {
  for (const DType dtype : kDTypes) {
    const Tensor a = values(dtype);
    const Tensor b = values(dtype, 0.5).permute({0, 2, 1}).clone().permute({0, 2, 1});
    Tensor got = Tensor::empty(a.shape(), DType::boolean);
    Tensor expected = Tensor::empty(a.shape(), DType::boolean);
    for (const CompareOp op : {CompareOp::eq, CompareOp::ne, CompareOp::lt, CompareOp::le}) {
      cuda::compare_with(kHost, op, got, a, b);
      cpu::select_kernels.compare(op, expected, a, b);
      expect_same(got, expected);
    }
    const Tensor condition = lt(values(DType::f64).select(0, 1), 2.0).unsqueeze(0).expand(a.shape());
    Tensor chosen = like(a);
    cuda::select_with(kHost, chosen, condition, a, b);
    expect_same(chosen, where(condition, a, b));
  }
}

BOOST_AUTO_TEST_CASE(a_weighted_sum_is_that_of_the_cpu) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Tensor a = values(dtype);
    const Tensor b = values(dtype, 0.3);
    Tensor got = like(a);
    Tensor expected = like(a);
    cuda::axpby_with(kHost, got, 0.1, a, -0.7, layouts_of(b)[1]);
    cpu::select_kernels.axpby(expected, 0.1, a, -0.7, b);
    expect_same(got, expected);
  }
}

BOOST_AUTO_TEST_CASE(every_dtype_becomes_every_other_as_on_the_cpu) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Tensor real = from_values<double>(
      {0.0, -1.75, 300.5, -40000.0, 65519.0, 65520.0, 1e-8, 3e9, -1e300, kInf, std::nan(""), 2049.0});
  const Tensor whole = from_values<std::int64_t>({0, -1, 255, 256, -32769, 1 << 24, (1 << 24) + 1,
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min(), 2049, 2051, 7});
  for (const DType from : kDTypes) {
    const Tensor x = (is_floating(from) ? real : whole).to(from).view({1, 3, 4});
    for (const DType to : kDTypes) {
      for (const Tensor& view : layouts_of(x)) {
        Tensor got = Tensor::empty(x.shape(), to);
        cuda::convert_with(kHost, got, view);
        expect_same(got, x.to(to));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_fill_writes_its_own_elements_and_no_others) {
  for (const DType dtype : kDTypes) {
    Tensor x = zeros({2, 3, 4}, dtype);
    Tensor part = x.slice(2, 1, 3).permute({2, 0, 1});
    cuda::fill_with(kHost, part, 1.0);
    expect_same(part.contiguous(), ones({2, 2, 3}, dtype));
    BOOST_TEST(sum(x.to(DType::f64)).item() == 12.0);
  }
  Tensor half = zeros({2}, DType::f16);
  cuda::fill_with(kHost, half, -2.5);
  expect_same(half, full({2}, -2.5, DType::f16));
}

BOOST_AUTO_TEST_CASE(nothing_and_one_element_are_computed_too) {
  Tensor none = Tensor::empty({0, 3}, DType::f32);
  cuda::unary_with(kHost, UnaryOp::exp, none, zeros({0, 3}));
  cuda::binary_with(kHost, BinaryOp::add, none, none, none);
  cuda::convert_with(kHost, none, zeros({0, 3}, DType::i8));
  cuda::fill_with(kHost, none, 1.0);
  Tensor one = Tensor::empty({}, DType::f32);
  cuda::binary_with(kHost, BinaryOp::add, one, full({}, 1.5), full({}, 2.0));
  BOOST_TEST(one.item() == 3.5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
