#include "tensor/kernels/elementwise.h"

#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tensor/ops/inplace.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_elementwise, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::expect_same_on_gpu;
using testing::kFloats;
using testing::kGpu;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::tolerance_of;

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);

Tensor values(DType dtype, double shift = 0.0) {
  Generator generator(7);
  return (uniform({5, 6, 7}, -4.0, 4.0, generator, DType::f64) + shift).to(dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(arithmetic_has_the_bits_of_the_cpus) {
  const std::vector<Binary> functions{add, sub, mul, maximum, minimum, div};
  for (const DType dtype : kDTypes) {
    if (dtype == DType::boolean) continue;
    const Tensor b = values(dtype, 5.0);
    for (const Tensor& a : layouts_of(values(dtype))) {
      for (const Binary f : functions) {
        expect_same_on_gpu(f, a, b);
        expect_same_on_gpu(f, a, layouts_of(b)[1]);
        expect_same_on_gpu(f, a, b.select(1, 2).unsqueeze(1));
        expect_same_on_gpu([f](const Tensor& x, const Tensor& y) { return f(x, y); }, a, values(DType::f32, 6.0));
      }
      expect_same_on_gpu([](const Tensor& x) { return (x + 3.0) * 2.0 - 1.0; }, a);
      expect_same_on_gpu([](const Tensor& x) { return sub(2.0, x); }, a);
    }
  }
}

BOOST_AUTO_TEST_CASE(large_operands_have_the_bits_of_the_cpus) {
  Generator generator(5);
  const Tensor x = randn({300, 244}, generator);
  const Tensor flat = randn({73'203}, generator);
  for (const Tensor& b : {x + 1.0, randn({244}, generator), randn({300, 1}, generator)})
    expect_same_on_gpu([](const Tensor& a, const Tensor& c) { return a - c; }, x, b);
  for (const Tensor& a : {flat, flat.slice(0, 1), flat.slice(0, 4), x.transpose()}) {
    expect_same_on_gpu([](const Tensor& y) { return neg(y) + 0.5; }, a);
    expect_same_on_gpu([](const Tensor& y) { return sub(2.0, y); }, a);
  }
}

BOOST_AUTO_TEST_CASE(functions_that_are_rounded_exactly_have_the_bits_of_the_cpus) {
  const std::vector<Unary> functions{neg, abs, sign, floor, ceil, round, trunc, frac, square, relu};
  for (const DType dtype : kDTypes) {
    if (dtype == DType::boolean) continue;
    for (const Tensor& x : layouts_of(values(dtype))) {
      for (const Unary f : functions) expect_same_on_gpu(f, x);
      expect_same_on_gpu([](const Tensor& y) { return sqrt(abs(y)); }, x);
      expect_same_on_gpu([](const Tensor& y) { return clamp(y, -1.0, 2.0); }, x.to(DType::f32));
    }
  }
}

BOOST_AUTO_TEST_CASE(functions_of_reals_are_close_to_the_cpus) {
  const std::vector<Unary> functions{exp,  expm1, exp2,  sin, cos,  tan,     atan, sinh,
                                     cosh, tanh,  asinh, erf, erfc, sigmoid, silu};
  for (const DType dtype : kFloats) {
    for (const Tensor& x : layouts_of(values(dtype))) {
      for (const Unary f : functions) expect_close_on_gpu(tolerance_of(dtype), 1e-7, f, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return log(abs(y) + 0.5); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return log2(abs(y) + 1.5) + log10(abs(y) + 1.5); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return asin(y / 5.0) + atanh(y / 5.0); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return acos(y / 5.0) + acosh(abs(y) + 1.5); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return logit(y / 9.0 + 0.5); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return gelu(y); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return softplus(y); }, x);
      expect_close_on_gpu(
          tolerance_of(dtype), 1e-7, [](const Tensor& y) { return pow(abs(y) + 0.5, 2.5); }, x);
    }
  }
}

BOOST_AUTO_TEST_CASE(comparisons_choices_and_conversions_have_the_bits_of_the_cpus) {
  for (const DType dtype : kDTypes) {
    const Tensor b = values(dtype, 0.5);
    for (const Tensor& a : layouts_of(values(dtype))) {
      expect_same_on_gpu([](const Tensor& x, const Tensor& y) { return lt(x, y); }, a, b);
      expect_same_on_gpu([](const Tensor& x, const Tensor& y) { return eq(x, y); }, a, b);
      expect_same_on_gpu([](const Tensor& x, const Tensor& y) { return where(ge(x, y), x, y); }, a, b);
      for (const DType to : kDTypes) expect_same_on_gpu([to](const Tensor& x) { return x.to(to); }, a);
      expect_same_on_gpu([](const Tensor& x) { return x.contiguous(); }, a);
    }
  }
}

BOOST_AUTO_TEST_CASE(in_place_and_into_the_memory_of_what_is_given_up) {
  const Tensor x = values(DType::f32);
  expect_same_on_gpu([](const Tensor& y) { return add_(y.clone(), y, 0.5); }, x);
  expect_same_on_gpu([](const Tensor& y) { return mul_(y.clone(), 3.0); }, x);
  expect_same_on_gpu([](const Tensor& y) { return relu((y + 1.0) * y - 2.0); }, x);
  const Tensor large = zeros({1 << 19}, DType::f32);  // which would be deferred on the CPU
  expect_same_on_gpu([](const Tensor& y) { return ((y + 1.0) * 3.0 - y) / 2.0; }, large);
  expect_same_on_gpu(
      [](const Tensor& y) {
        Tensor copy = y.clone();
        copy.slice(1, 2, 4).fill(9.0);
        return copy;
      },
      x);
}

BOOST_AUTO_TEST_CASE(nothing_and_one_element) {
  for (const DType dtype : kFloats) {
    expect_same_on_gpu([](const Tensor& y) { return y + y; }, zeros({0, 3}, dtype));
    expect_same_on_gpu([](const Tensor& y) { return y + y; }, full({}, 1.5, dtype));
  }
}

BOOST_AUTO_TEST_CASE(operands_on_two_devices_are_refused) {
  const Tensor x = values(DType::f32);
  expect_error<DeviceError>("[add] devices differ: cuda:0 and cpu", [&] { (void)add(x.to(kGpu), x); });
  Tensor there = x.to(kGpu);
  expect_error<DeviceError>("[copy_from] devices differ: cuda:0 and cpu", [&] { there.copy_from(x); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
