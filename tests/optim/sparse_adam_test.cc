#include "optim/sparse_adam.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <span>

#include "tensor/create.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;
using optim::SparseAdam;
using optim::SparseAdamOptions;

BOOST_AUTO_TEST_SUITE(sparse_adam)

BOOST_AUTO_TEST_CASE(a_step_follows_the_equations) {
  SparseAdam rule({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0});
  Parameter p({1.0});
  p.step(rule, {2.0});  // m = 1, v = 1; 0.5 * sqrt(1/4) / (1/2) * 1 / (1 + 1)
  expect(p.current(), {0.75});
  expect(rule.state(0, "exp_avg"), {1.0});
}

BOOST_AUTO_TEST_CASE(rows_without_a_gradient_keep_value_and_means) {
  SparseAdam rule({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0});
  const Tensor table = from_values<double>({1, 2, 3}, {3, 1});
  const auto step = [&](const Tensor& current, std::int64_t row, double gradient) {
    Tensor next = current.clone();
    const optim::ParameterUpdate update{0, current, full({1, 1}, gradient, DType::f64), next,
                                        from_values<std::int64_t>({row})};
    rule.step(std::span(&update, 1));
    return next;
  };
  const Tensor once = step(table, 1, 2.0);
  expect(once.reshape({3}), {1.0, 1.75, 3.0});
  const Tensor twice = step(once, 0, 2.0);
  // Row 0 at step 2: m = 1, v = 1; 0.5 * sqrt(1 - 9/16) / (3/4) / 2. Row 1 does not move, although its mean is not 0.
  expect(twice.reshape({3}), {1.0 - std::sqrt(7.0 / 16.0) / 3.0, 1.75, 3.0});
  expect(rule.state(0, "exp_avg").reshape({3}), {1.0, 1.0, 0.0});
}

BOOST_AUTO_TEST_CASE(maximize_goes_along_the_gradient) {
  SparseAdam rule({.lr = 0.5, .beta1 = 0.5, .beta2 = 0.75, .eps = 1.0, .maximize = true});
  Parameter p({1.0});
  p.step(rule, {2.0});
  expect(p.current(), {1.25});
}

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_refused) {
  const auto& refused = expect_refused<SparseAdam, SparseAdamOptions>;
  refused({.lr = -0.1}, "[sparse_adam] lr is not a number >= 0: -0.1");
  refused({.beta1 = 1.0}, "[sparse_adam] beta1 is not a number in [0, 1): 1");
  refused({.beta2 = -0.5}, "[sparse_adam] beta2 is not a number in [0, 1): -0.5");
  refused({.eps = -1.0}, "[sparse_adam] eps is not a number >= 0: -1");
}

BOOST_AUTO_TEST_SUITE_END()
