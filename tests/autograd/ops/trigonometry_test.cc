#include "autograd/ops/trigonometry.h"

#include <cmath>
#include <initializer_list>
#include <limits>

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_trigonometry)

namespace {

using Function = Variable (*)(const Variable&);
using OfTwo = Variable (*)(const Variable&, const Variable&);
constexpr double kInf = std::numeric_limits<double>::infinity();

double slope_at(Function f, double x) {
  const Variable variable = leaf(x);
  return backward(f(variable)).of(variable).item();
}

}  // namespace

BOOST_AUTO_TEST_CASE(functions_have_their_derivatives) {
  const auto close = boost::test_tools::tolerance(1e-14);
  BOOST_TEST(slope_at(tan, 0.0) == 1.0, close);
  BOOST_TEST(slope_at(asin, 0.6) == 1.25, close);  // 1 / sqrt(1 - 0.36)
  BOOST_TEST(slope_at(acos, 0.6) == -1.25, close);
  BOOST_TEST(slope_at(atan, 2.0) == 0.2, close);  // 1 / (1 + 4)
  BOOST_TEST(slope_at(sinh, 0.0) == 1.0, close);
  BOOST_TEST(slope_at(cosh, 0.0) == 0.0);
  BOOST_TEST(slope_at(asinh, 0.75) == 0.8, close);      // 1 / sqrt(1 + 9/16)
  BOOST_TEST(slope_at(acosh, 1.25) == 4.0 / 3, close);  // 1 / sqrt(25/16 - 1)
  BOOST_TEST(slope_at(atanh, 0.5) == 4.0 / 3, close);   // 1 / (1 - 1/4)
}

BOOST_AUTO_TEST_CASE(gradients_agree_with_finite_differences) {
  const auto x = [] { return leaf({0.3, -0.7, 0.05, -0.2}, {2, 2}); };
  for (const Function f :
       std::initializer_list<Function>{sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, atanh}) {
    expect_gradcheck([f](Inputs v) { return f(v[0]); }, {x()});
    expect_gradcheck([f](Inputs v) { return f(transpose(v[0])) * v[0]; }, {x()});
  }
  expect_gradcheck([](Inputs v) { return acosh(v[0] + 2.0); }, {x()});
}

BOOST_AUTO_TEST_CASE(gradients_where_an_inverse_ends_are_infinite_and_nan_beyond) {
  for (const double x : {-1.0, 1.0}) {
    BOOST_TEST(slope_at(asin, x) == kInf);
    BOOST_TEST(slope_at(acos, x) == -kInf);
    BOOST_TEST(slope_at(atanh, x) == kInf);
  }
  BOOST_TEST(slope_at(acosh, 1.0) == kInf);
  for (const Function f : std::initializer_list<Function>{asin, acos}) BOOST_TEST(std::isnan(slope_at(f, 2.0)));
  BOOST_TEST(std::isnan(slope_at(acosh, 0.5)));
  BOOST_TEST(slope_at(atanh, 2.0) == -1.0 / 3, boost::test_tools::tolerance(1e-14));  // 1 / (1 - 4)
}

BOOST_AUTO_TEST_CASE(an_angle_turns_and_a_distance_grows_with_its_point) {
  const Variable y = leaf({3.0, 4.0});
  const Variable x = leaf({4.0, 3.0});
  const Gradients angle = backward(sum(atan2(y, x)));
  expect(angle.of(y), {0.16, 0.12});    // x / 25
  expect(angle.of(x), {-0.12, -0.16});  // -y / 25
  const Gradients distance = backward(sum(hypot(y, x)));
  expect(distance.of(y), {0.6, 0.8});
  expect(distance.of(x), {0.8, 0.6});
  const auto column = [] { return leaf({0.5, -1.5}, {2, 1}); };
  const auto row = [] { return leaf({1.1, -2.2, 3.3}); };
  expect_gradcheck([](Inputs v) { return atan2(v[0], v[1]); }, {column(), row()});
  expect_gradcheck([](Inputs v) { return hypot(v[0], v[1]); }, {column(), row()});
  for (const OfTwo f : std::initializer_list<OfTwo>{atan2, hypot}) {
    const Variable origin = leaf(0.0);
    const Variable other = leaf(0.0);
    const Gradients none = backward(f(origin, other));
    BOOST_TEST((std::isnan(none.of(origin).item()) && std::isnan(none.of(other).item())));
  }
}

BOOST_AUTO_TEST_SUITE_END()
