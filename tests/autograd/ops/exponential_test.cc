#include "autograd/ops/exponential.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_exponential)

namespace {

using Function = Variable (*)(const Variable&);
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

BOOST_AUTO_TEST_CASE(functions_have_their_derivatives) {
  const double ln2 = 0.6931471805599453;
  const double ln10 = 2.302585092994046;
  const Variable x = leaf({1.0, 4.0});
  expect(backward(sum(exp2(x))).of(x), {2 * ln2, 16 * ln2});
  expect(backward(sum(log2(x))).of(x), {1 / ln2, 0.25 / ln2});
  expect(backward(sum(log10(x))).of(x), {1 / ln10, 0.25 / ln10});
  const Variable p = leaf({0.5, 0.75});
  expect(backward(sum(logit(p))).of(p), {4.0, 16.0 / 3});  // 1 / (1/4), 1 / (3/16)
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const auto x = [] { return leaf({0.3, 0.7, 0.45, 0.2}, {2, 2}); };
  for (const Function f : std::initializer_list<Function>{logit, exp2, log2, log10}) {
    expect_gradcheck([f](Inputs v) { return f(v[0]); }, {x()});
    expect_gradcheck([f](Inputs v) { return f(transpose(v[0])) * v[0]; }, {x()});
  }
  expect_gradcheck([](Inputs v) { return logit(v[0], 0.25); }, {x()});
}

BOOST_AUTO_TEST_CASE(gradients_of_logit_at_the_edges_are_those_that_are_promised) {
  const Variable x = leaf({0.0, 1.0, 0.5, -0.5, 1.5});
  const Tensor plain = backward(sum(logit(x))).of(x);
  const auto slopes = plain.data<double>();
  BOOST_TEST(slopes[0] == kInf);
  BOOST_TEST(slopes[1] == kInf);
  BOOST_TEST(slopes[2] == 4.0);
  BOOST_TEST((std::isnan(slopes[3]) && std::isnan(slopes[4])));
  const Variable limited = leaf({0.125, 0.25, 0.75, 0.875});
  expect(backward(sum(logit(limited, 0.25))).of(limited), {0.0, 16.0 / 3, 16.0 / 3, 0.0});
}

BOOST_AUTO_TEST_CASE(added_exponentials_share_the_gradient) {
  const Variable a = leaf({0.0, 1.0986122886681098, 1000.0});  // exp: 1, 3
  const Variable b = leaf({0.0, 0.0, 0.0});
  const Gradients shares = backward(sum(logaddexp(a, b)));
  expect(shares.of(a), {0.5, 0.75, 1.0});
  expect(shares.of(b), {0.5, 0.25, 0.0});
  expect_gradcheck([](Inputs v) { return logaddexp(v[0], v[1]); }, {leaf({0.5, -1.5}, {2, 1}), leaf({1.1, -2.2, 0.3})});
  const Variable least = leaf(-kInf);
  BOOST_TEST(std::isnan(backward(logaddexp(least, leaf(-kInf))).of(least).item()));
}

BOOST_AUTO_TEST_CASE(gradients_of_xlogy_at_the_edges_are_those_that_are_promised) {
  const Variable a = leaf({0.0, 0.0, 2.0, 0.0});
  const Variable b = leaf({0.0, -1.0, 4.0, 4.0});
  const Gradients both = backward(sum(xlogy(a, b)));
  const double log4 = 1.3862943611198906;
  expect(both.of(a), {0.0, 0.0, log4, log4});
  BOOST_TEST(std::isnan(both.of(b).data<double>()[0]));
  expect(both.of(b).slice(0, 1, 4), {0.0, 0.5, 0.0});
  expect(backward(sum(xlogy(a, 4.0))).of(a), {log4, log4, log4, log4});
  expect(backward(sum(xlogy(a, 0.0))).of(a).slice(0, 0, 2), {0.0, 0.0});
  expect(backward(sum(xlogy(3.0, b))).of(b).slice(0, 1, 4), {-3.0, 0.75, 0.75});
  expect_gradcheck([](Inputs v) { return xlogy(v[0], v[1]); }, {leaf({0.5, -1.5}, {2, 1}), leaf({1.1, 2.2, 0.3})});
}

BOOST_AUTO_TEST_SUITE_END()
