#include "autograd/ops/inplace.h"

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_inplace)

BOOST_AUTO_TEST_CASE(a_constant_is_written_to_at_any_time_and_keeps_its_identity) {
  const Variable x = from_values<double>({1.0, 2.0});
  const Tensor before = x.value();
  BOOST_CHECK(same(add_(x, Variable(from_values<double>({10.0, 20.0})), 2.0), x));
  expect(x.value(), {21.0, 42.0});
  BOOST_CHECK(same(sub_(x, Variable(from_values<double>({1.0, 2.0}))), x));
  expect(before, {20.0, 40.0});  // the same memory
  BOOST_CHECK(same(mul_(x, Variable(scalar(2.0))), x));
  BOOST_CHECK(same(div_(x, Variable(scalar(8.0))), x));
  expect(x.value(), {5.0, 10.0});
  BOOST_CHECK(same(add_(x, 1.0), x));
  BOOST_CHECK(same(sub_(x, 2.0), x));
  BOOST_CHECK(same(mul_(x, 3.0), x));
  BOOST_CHECK(same(div_(x, 2.0), x));
  expect(x.value(), {6.0, 13.5});  // (5 - 1) * 3 / 2
  BOOST_CHECK(same(clamp_(x, 7.0, 8.0), x));
  expect(x.value(), {7.0, 8.0});
  BOOST_CHECK(same(copy_(x, Variable(scalar(4.0))), x));
  expect(x.value(), {4.0, 4.0});
  BOOST_CHECK(same(fill_(x, 3.0), x));
  expect(x.value(), {3.0, 3.0});
  BOOST_CHECK(same(zero_(x), x));
  expect(x.value(), {0.0, 0.0});
}

BOOST_AUTO_TEST_CASE(a_step_by_hand_is_taken_under_a_guard) {
  const Variable w = leaf({1.0, 2.0});
  const Tensor gradient = backward(sum(w * w)).of(w);
  {
    const NoGradGuard no_grad;
    sub_(w, gradient, 0.5);
  }
  expect(w.value(), {0.0, 0.0});  // w - 0.5 * 2 w
  BOOST_CHECK(w.requires_grad());
  expect(backward(sum(w * 3.0)).of(w), {3.0, 3.0});
}

BOOST_AUTO_TEST_CASE(without_a_guard_variables_that_require_a_gradient_are_refused) {
  const Variable w = leaf({1.0, 2.0});
  const Variable constant = from_values<double>({1.0, 2.0});
  const auto refuses = [](const std::string& name, const auto& action) {
    expect_throw<TensorError>(
        action, "[" + name + "] writes into a variable that requires a gradient: do it under a NoGradGuard");
  };
  refuses("add_", [&] { add_(w, constant); });
  refuses("add_", [&] { add_(w, 1.0); });
  refuses("sub_", [&] { sub_(w, constant); });
  refuses("sub_", [&] { sub_(w, 1.0); });
  refuses("mul_", [&] { mul_(w * 2.0, constant); });
  refuses("mul_", [&] { mul_(w, 1.0); });
  refuses("div_", [&] { div_(w, constant); });
  refuses("div_", [&] { div_(w, 1.0); });
  refuses("clamp_", [&] { clamp_(w, 0.0, 1.0); });
  refuses("fill_", [&] { fill_(w, 1.0); });
  refuses("zero_", [&] { zero_(w); });
  refuses("copy_", [&] { copy_(w, constant); });
  const auto refuses_other = [](const std::string& name, const auto& action) {
    expect_throw<TensorError>(action, "[" + name +
                                          "] the other operand requires a gradient, which it would not get: "
                                          "detach() it, or do it under a NoGradGuard");
  };
  refuses_other("add_", [&] { add_(constant, w); });
  refuses_other("sub_", [&] { sub_(constant, w); });
  refuses_other("mul_", [&] { mul_(constant, w); });
  refuses_other("div_", [&] { div_(constant, w); });
  refuses_other("copy_", [&] { copy_(constant, w); });
  expect(constant.value(), {1.0, 2.0});
  add_(constant, w.detach());
  expect(constant.value(), {2.0, 4.0});
  expect_throw<TensorError>([&] { add_(Variable(), 1.0); }, "[requires_grad] variable is undefined");
}

BOOST_AUTO_TEST_CASE(a_graph_that_saved_the_old_value_names_who_saved_it_and_both_versions) {
  const Variable w = leaf({1.0, 2.0});
  const Variable product = sum(w * w);
  const Variable shifted = sum(w + 1.0);  // saves no value
  const Variable power = sum(exp(w));     // saves its result
  const std::uint64_t saved = w.value().version();
  const NoGradGuard no_grad;
  add_(w, 1.0);
  mul_(w, 2.0);
  expect_throw<BackwardError>([&] { (void)backward(product); },
                              "[backward] mul: a value that it saved, f64 (2), was written to afterwards: version " +
                                  std::to_string(saved + 2) + ", saved at version " + std::to_string(saved));
  expect(backward(shifted).of(w), {1.0, 1.0});
  BOOST_CHECK(backward(power).of(w).defined());
}

BOOST_AUTO_TEST_CASE(a_value_that_was_replaced_is_not_the_one_that_is_written_to) {
  const Variable w = leaf({3.0});
  const Variable loss = sum(w * w);
  w.set_value(from_values<double>({100.0}));
  const NoGradGuard no_grad;
  zero_(w);
  expect(backward(loss).of(w), {6.0});
}

BOOST_AUTO_TEST_SUITE_END()
