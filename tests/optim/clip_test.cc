#include "optim/clip.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "optim/local_optimizer.h"
#include "tests/optim/parameter.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(clip)

BOOST_AUTO_TEST_CASE(gradients_of_a_backward_pass_have_one_norm) {
  const Variable a(f64({1.0, 1.0}), RequiresGrad::yes);
  const Variable b(f64({1.0}), RequiresGrad::yes);
  const Gradients gradients = backward(sum(a * Variable(f64({2.0, -3.0}))) + sum(b * 6.0));
  BOOST_TEST(optim::global_norm(gradients) == 7.0);  // 4 + 9 + 36
  BOOST_TEST(optim::global_norm(gradients, 1.0) == 11.0);
}

BOOST_AUTO_TEST_CASE(rows_of_one_place_are_summed_before_they_enter_the_norm) {
  // A tensor of this gradient would take 2^43 bytes.
  const Shape shape{std::int64_t{1} << 40, 1};
  const Variable table(zeros({1, 1}, DType::f64).expand(shape), RequiresGrad::yes);
  const Variable b(f64({1.0}), RequiresGrad::yes);
  Gradients gradients = backward(b * 2.0);
  gradients.add(table, SparseTensor(from_values<std::int64_t>({7, 1, 7}, {1, 3}), ones({3, 1}, DType::f64), shape));
  BOOST_TEST(optim::global_norm(gradients) == 3.0);  // 2 * 2 + 1 * 1 + 2 * 2
  BOOST_TEST(optim::global_norm(gradients, std::numeric_limits<double>::infinity()) == 2.0);
}

BOOST_AUTO_TEST_CASE(a_step_with_the_scale_is_that_of_gradients_with_the_norm) {
  const Variable a(f64({1.0, 1.0}), RequiresGrad::yes);
  const Variable b(f64({1.0}), RequiresGrad::yes);
  const Gradients gradients = backward(sum(a * Variable(f64({2.0, -3.0}))) + sum(b * 6.0));
  optim::LocalOptimizer optimizer(std::vector<Variable>{a, b}, optim::SgdOptions{.lr = 1.0});
  const double scale = optim::clip_scale(optim::global_norm(gradients), 1.0);
  BOOST_TEST(scale == 1.0 / (7.0 + 1e-6));
  optimizer.step(gradients, {.gradient_scale = scale});
  expect(a.value(), {1.0 - 2.0 / (7.0 + 1e-6), 1.0 + 3.0 / (7.0 + 1e-6)});
  expect(b.value(), {1.0 - 6.0 / (7.0 + 1e-6)});
  expect(gradients.of(a), {2.0, -3.0});
}

BOOST_AUTO_TEST_CASE(small_gradients_stay_as_they_are) {
  BOOST_TEST(optim::clip_scale(0.5, 1.0) == 1.0);
  BOOST_TEST(optim::clip_scale(0.0, 1.0) == 1.0);
  BOOST_TEST(optim::clip_scale(7.0, std::numeric_limits<double>::infinity()) == 1.0);
}

BOOST_AUTO_TEST_CASE(a_norm_that_is_not_finite_is_refused) {
  const auto scale_of = [](double norm, double max_norm) {
    return [=] { static_cast<void>(optim::clip_scale(norm, max_norm)); };
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_throw<ValueError>(scale_of(nan, 1.0), "[clip_scale] the norm is not finite: nan");
  expect_throw<ValueError>(scale_of(std::numeric_limits<double>::infinity(), 1.0),
                           "[clip_scale] the norm is not finite: inf");
  expect_throw<ValueError>(scale_of(1.0, -1.0), "[clip_scale] max_norm is not a number above 0: -1");
  expect_throw<ValueError>(scale_of(1.0, nan), "[clip_scale] max_norm is not a number above 0: nan");
}

BOOST_AUTO_TEST_SUITE_END()
