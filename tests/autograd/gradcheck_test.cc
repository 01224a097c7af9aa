#include "autograd/gradcheck.h"

#include <array>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(gradcheck_itself)

BOOST_AUTO_TEST_CASE(a_right_gradient_passes_and_the_input_keeps_its_value) {
  const std::array<Variable, 1> inputs{leaf({0.5, -2.0})};
  BOOST_CHECK(gradcheck([](auto x) { return x[0] * x[0]; }, inputs));
  expect(inputs[0].value(), {0.5, -2.0});
}

BOOST_AUTO_TEST_CASE(a_wrong_gradient_fails_and_its_worst_element_is_named) {
  // The function is x; its backward says 1 for the first element and 2 for the second.
  auto wrong = [](std::span<const Variable> x) {
    return detail::record("wrong", x[0].value().clone(), detail::edges_of(x), [](const Tensor& g) {
      return mul(g, from_values<double>({1.0, 2.0}));
    });
  };
  const std::array<Variable, 1> inputs{leaf({0.5, -2.0})};
  const GradcheckResult result = gradcheck(wrong, inputs);
  BOOST_CHECK(!result);
  BOOST_CHECK_EQUAL(result.worst.substr(0, 28), "input 0, element 1: backward");
}

BOOST_AUTO_TEST_CASE(a_missing_gradient_counts_as_zero) {
  const std::array<Variable, 2> inputs{leaf(1.0), leaf(2.0)};
  BOOST_CHECK(gradcheck([](auto x) { return x[0] * 3.0; }, inputs));
  BOOST_CHECK(!gradcheck([](auto x) { return x[0] * x[1].detach(); }, inputs));
}

BOOST_AUTO_TEST_CASE(inputs_that_are_not_f64_are_refused) {
  const std::array<Variable, 1> inputs{Variable(scalar(1.0F), RequiresGrad::yes)};
  expect_throw<DTypeError>([&] { (void)gradcheck([](auto x) { return x[0]; }, inputs); },
                           "[gradcheck] input 0 is not f64: f32");
}

BOOST_AUTO_TEST_SUITE_END()
