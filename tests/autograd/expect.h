// Checks that the tests of this folder share.
#pragma once

#include <boost/test/unit_test.hpp>

#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/variable.h"
#include "tensor/create.h"
#include "tensor/print.h"
#include "tests/expect_throw.h"

namespace troupe::testing {

/// A leaf of f64 values that requires a gradient.
inline Variable leaf(std::initializer_list<double> values, const Shape& shape) {
  return Variable(from_values<double>(values, shape), RequiresGrad::yes);
}
inline Variable leaf(std::initializer_list<double> values) {
  return leaf(values, Shape{static_cast<std::int64_t>(values.size())});
}
inline Variable leaf(double value) { return leaf({value}, Shape{}); }

/// Checks that `actual` has the shape and, within 1e-12 (a few roundings in f64), the values given.
inline void expect(const Tensor& actual, std::initializer_list<double> values, const Shape& shape) {
  const bool fits =
      actual.defined() && allclose(actual.to(DType::f64), from_values<double>(values, shape), 1e-12, 1e-12);
  BOOST_CHECK_MESSAGE(fits, "got " << (actual.defined() ? to_string(actual.shape()) : "") << ' ' << to_string(actual));
}
inline void expect(const Tensor& actual, std::initializer_list<double> values) {
  expect(actual, values, Shape{static_cast<std::int64_t>(values.size())});
}
inline void expect(const Tensor& actual, double value) { expect(actual, {value}, Shape{}); }

using Inputs = std::span<const Variable>;

/// Checks the gradient of `function` at `inputs` against finite differences.
inline void expect_gradcheck(const std::function<Variable(Inputs)>& function, const std::vector<Variable>& inputs) {
  const GradcheckResult result = gradcheck(function, inputs);
  BOOST_CHECK_MESSAGE(result.ok, result.worst);
}

}  // namespace troupe::testing
