// Helpers that the tests of update rules share: parameters that take steps.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <utility>

#include "optim/optimizer.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/print.h"
#include "tests/support/expect_throw.h"

namespace troupe::testing {

inline Tensor f64(std::initializer_list<double> values) { return from_values<double>(values); }

/// Parameters that take steps, with two buffers each, as an owner keeps them.
class Parameter {
 public:
  explicit Parameter(std::initializer_list<double> start) : current_(f64(start)), next_(zeros_like(current_)) {}

  [[nodiscard]] optim::ParameterUpdate update(std::initializer_list<double> gradient, std::size_t index = 0) const {
    return {index, current_, f64(gradient), next_};
  }
  void step(optim::Optimizer& rule, std::initializer_list<double> gradient, std::size_t index = 0) {
    const optim::ParameterUpdate updates[]{update(gradient, index)};
    rule.step(updates);
    std::swap(current_, next_);
  }
  [[nodiscard]] const Tensor& current() const { return current_; }

 private:
  Tensor current_;
  Tensor next_;
};

/// Checks that a rule with these settings is refused with this text.
template <class Rule, class Options>
void expect_refused(const Options& options, const std::string& text) {
  expect_throw<ValueError>([&] { Rule rule(options); }, text);
}

inline void expect(const Tensor& actual, std::initializer_list<double> values) {
  // a few roundings of f64
  BOOST_CHECK_MESSAGE(allclose(actual, f64(values), 1e-14, 1e-15), "got " << actual);
}

}  // namespace troupe::testing
