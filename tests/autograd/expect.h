// Helpers that the tests of this folder share.
#pragma once

#include <boost/test/unit_test.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/engine.h"
#include "autograd/gradcheck.h"
#include "autograd/ops.h"
#include "autograd/variable.h"
#include "tensor/create.h"
#include "tensor/print.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {

/// Returns an f64 leaf that requires a gradient.
inline Variable leaf(std::initializer_list<double> values, const Shape& shape) {
  return Variable(from_values<double>(values, shape), RequiresGrad::yes);
}
inline Variable leaf(std::initializer_list<double> values) {
  return leaf(values, Shape{static_cast<std::int64_t>(values.size())});
}
inline Variable leaf(double value) { return leaf({value}, Shape{}); }

/// Returns an f64 leaf of random values in [-1, 1).
inline Variable drawn(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return Variable(uniform(shape, -1.0, 1.0, generator, DType::f64), RequiresGrad::yes);
}

/// Checks that `actual` has the shape `shape` and these values within 1e-12 (a few roundings in f64).
inline void expect(const Tensor& actual, std::initializer_list<double> values, const Shape& shape) {
  const bool fits =
      actual.defined() && allclose(actual.to(DType::f64), from_values<double>(values, shape), 1e-12, 1e-12);
  BOOST_CHECK_MESSAGE(fits, "got " << (actual.defined() ? to_string(actual.shape()) : "") << ' ' << to_string(actual));
}
inline void expect(const Tensor& actual, std::initializer_list<double> values) {
  expect(actual, values, Shape{static_cast<std::int64_t>(values.size())});
}
inline void expect(const Tensor& actual, double value) { expect(actual, {value}, Shape{}); }

/// Returns the gradient of `x` if element i of the result has weight i + 1.
inline Tensor gradient_of(const Variable& x, const Variable& result) {
  const Tensor weights = add(arange(result.shape().numel(), DType::f64), 1.0);
  return backward(sum(result * Variable(weights.reshape(result.shape())))).of(x);
}

using Inputs = std::span<const Variable>;

/// Returns the gradients of a weighted sum of `function` at `inputs`.
inline Gradients gradients_of(const std::function<Variable(Inputs)>& function, const std::vector<Variable>& inputs) {
  const Variable result = function(inputs);
  Generator generator(17);
  const Tensor weights = uniform(result.shape(), 0.5, 1.5, generator, DType::f64);
  return backward(sum(result * Variable(weights.to(result.value().device()))));
}

/// Checks that the gradients of `function` at 16-bit `inputs` have their dtype and equal the f64 gradients at the same
/// numbers. Tolerance: 16 roundings of the dtype, of the largest element each.
inline void expect_gradients_in_16_bits(const std::function<Variable(Inputs)>& function,
                                        const std::vector<Variable>& inputs) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    std::vector<Variable> narrow;
    std::vector<Variable> wide;
    for (const Variable& input : inputs) {
      narrow.emplace_back(input.value().to(dtype), RequiresGrad::yes);
      wide.emplace_back(narrow.back().value().to(DType::f64), RequiresGrad::yes);
    }
    const Gradients found = gradients_of(function, narrow);
    const Gradients expected = gradients_of(function, wide);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const Tensor gradient = found.of(narrow[i]);
      const Tensor reference = expected.of(wide[i]);
      if (reference.numel() == 0) continue;
      const double largest = max(abs(reference)).item();
      const double rounding = dtype == DType::f16 ? 0x1p-11 : 0x1p-8;
      const bool fits = gradient.dtype() == dtype && allclose(gradient, reference, 0.0, 16.0 * rounding * largest);
      BOOST_CHECK_MESSAGE(fits, name_of(gradient.dtype())
                                    << " gradient of input " << i << " in " << name_of(dtype) << ":\n"
                                    << gradient << "\nis not close to\n"
                                    << reference);
    }
  }
}

/// Checks the gradient of `function` at `inputs` against finite differences, and in 16 bits.
inline void expect_gradcheck(const std::function<Variable(Inputs)>& function, const std::vector<Variable>& inputs) {
  const GradcheckResult result = gradcheck(function, inputs);
  BOOST_CHECK_MESSAGE(result.ok, result.worst);
  expect_gradients_in_16_bits(function, inputs);
}

}  // namespace troupe::testing
