#include "autograd/custom_op.h"

#include <array>
#include <stdexcept>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(custom_op_itself)

namespace {

using Edges = std::span<const Edge>;

Variable cube(const Variable& x) {
  const Tensor value = x.value();
  return custom_op("cube", pow(value, 3.0), {x},
                   [x = Saved(value)](const Tensor& gradient) { return mul(gradient, mul(pow(x.get(), 2.0), 3.0)); });
}

/// Returns a b^2 for equal shapes. Counts the computed gradients in `computed`.
Variable times_square(const Variable& a, const Variable& b, std::array<int, 2>& computed) {
  const Tensor x = a.value();
  const Tensor y = b.value();
  return custom_op("times_square", mul(x, mul(y, y)), {a, b},
                   [x = Saved(x), y = Saved(y), &computed](const Tensor& gradient, Edges needed) {
                     std::vector<Tensor> gradients(2);
                     if (needed[0]) gradients[0] = mul(gradient, mul(y.get(), y.get())), ++computed[0];
                     if (needed[1]) gradients[1] = mul(mul(gradient, 2.0), mul(x.get(), y.get())), ++computed[1];
                     return gradients;
                   });
}

/// Returns the larger half and the smaller half of a sorted vector, and the index of the cut.
std::vector<Variable> halves(const Variable& x) {
  const Tensor value = x.value();
  const std::int64_t cut = value.size(0) / 2;
  return custom_op("halves", std::vector<Tensor>{value.slice(0, 0, cut), value.slice(0, cut), scalar(cut)}, {x},
                   [cut](std::vector<Tensor> gradients, Edges) {
                     const DType dtype = gradients[gradients[0].defined() ? 0 : 1].dtype();
                     for (std::size_t i = 0; i < 2; ++i) {
                       if (!gradients[i].defined()) gradients[i] = zeros({cut}, dtype);
                     }
                     gradients.resize(2);
                     return std::vector<Tensor>{concat(gradients)};
                   });
}

/// An operation whose backward returns `gradients`.
Variable gives(const Variable& x, std::vector<Tensor> gradients) {
  return custom_op("odd", x.value().clone(), {x}, [gradients](const Tensor&, Edges) { return gradients; });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_users_operation_has_the_gradient_it_states) {
  const Variable x = leaf({2.0, -1.0});
  const Variable y = cube(x);
  expect(y.value(), {8.0, -1.0});
  expect(backward(sum(y)).of(x), {12.0, 3.0});  // 3 x^2
  BOOST_CHECK_EQUAL(y.gradient_edge().fn->name(), "cube");
  expect_gradcheck([](Inputs in) { return cube(in[0]) * cube(in[0] + 1.0); }, {leaf({0.5, -1.5, 2.0})});
}

BOOST_AUTO_TEST_CASE(of_several_inputs_only_those_that_need_a_gradient_are_asked_for) {
  std::array<int, 2> computed{};
  const Variable a = leaf({2.0});
  const Variable b = leaf({3.0});
  const Gradients both = backward(sum(times_square(a, b, computed)));
  expect(both.of(a), {9.0});
  expect(both.of(b), {12.0});  // 2 a b
  (void)backward(sum(times_square(a, b.detach(), computed)));
  expect(grad(sum(times_square(a, b, computed)), b), {12.0});
  BOOST_CHECK_EQUAL(computed[0], 2);
  BOOST_CHECK_EQUAL(computed[1], 2);
}

BOOST_AUTO_TEST_CASE(of_several_results_some_may_get_no_gradient_and_integers_are_constants) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0});
  const std::vector<Variable> parts = halves(x);
  BOOST_CHECK(!parts[2].requires_grad());
  BOOST_CHECK_EQUAL(parts[2].value().item<std::int64_t>(), 2);
  expect(backward(sum(parts[1] * 5.0)).of(x), {0.0, 0.0, 5.0, 5.0});
  expect_gradcheck([](Inputs in) { return halves(in[0])[0] * halves(in[0])[1]; }, {leaf({1.0, 2.0, 3.0, 4.0})});
}

BOOST_AUTO_TEST_CASE(without_a_gradient_to_compute_the_result_is_a_constant) {
  const Variable x = leaf({2.0});
  BOOST_CHECK(!cube(x.detach()).requires_grad());
  const NoGradGuard no_grad;
  BOOST_CHECK(!cube(x).requires_grad());
  BOOST_CHECK(!halves(leaf({1.0, 2.0}))[0].requires_grad());
}

BOOST_AUTO_TEST_CASE(an_input_may_be_undefined) {
  const Variable x = leaf({2.0});
  const Variable y =
      custom_op("with_bias", x.value().clone(), {x, Variable()}, [](const Tensor& gradient, Edges needed) {
        BOOST_CHECK(!needed[1]);
        return std::vector<Tensor>{gradient, Tensor()};
      });
  expect(backward(sum(y)).of(x), {1.0});
}

BOOST_AUTO_TEST_CASE(an_undefined_gradient_says_that_there_is_none) {
  const Variable x = leaf({2.0});
  BOOST_CHECK(!backward(sum(gives(x, {Tensor()}))).of(x).defined());
}

BOOST_AUTO_TEST_CASE(gradients_that_do_not_fit_their_input_fail_the_pass) {
  const Variable x = leaf({1.0, 2.0});
  expect_throw<BackwardError>([&] { (void)backward(sum(gives(x, {ones({3}, DType::f64)}))); },
                              "[backward] odd: the gradient of input 0 is f64 (3), not f64 (2)");
  expect_throw<BackwardError>([&] { (void)backward(sum(gives(x, {ones({2})}))); },
                              "[backward] odd: the gradient of input 0 is f32 (2), not f64 (2)");
  expect_throw<BackwardError>([&] { (void)backward(sum(gives(x, {}))); },
                              "[backward] odd: gave 0 gradients for 1 inputs");
  expect_throw<BackwardError>([&] { (void)backward(sum(gives(x, std::vector<Tensor>(2)))); },
                              "[backward] odd: gave 2 gradients for 1 inputs");
}

BOOST_AUTO_TEST_CASE(what_the_backward_throws_fails_the_pass_with_the_operations_name) {
  const Variable x = leaf({1.0});
  const Variable y =
      custom_op("fragile", x.value().clone(), {x}, [](const Tensor&) -> Tensor { throw std::runtime_error("broke"); });
  expect_throw<BackwardError>([&] { (void)backward(sum(y)); }, "[backward] fragile: broke");
}

BOOST_AUTO_TEST_CASE(values_that_cannot_have_a_gradient_are_refused) {
  const Variable x = leaf({1.0});
  const auto backward_of = [](const Tensor& gradient) { return gradient; };
  expect_throw<DTypeError>([&] { (void)custom_op("count", arange(3), {x}, backward_of); },
                           "[count] only floating point values have gradients: i64");
  expect_throw<TensorError>([&] { (void)custom_op("count", Tensor(), {x}, backward_of); },
                            "[count] tensor is undefined");
}

BOOST_AUTO_TEST_CASE(what_was_saved_is_watched_and_released) {
  const Variable x = leaf({2.0});
  Tensor seen = x.value();
  const Variable written = sum(cube(x));
  seen.fill(7.0);
  BOOST_CHECK_THROW((void)backward(written), BackwardError);

  auto saved = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = saved;
  const Variable y = custom_op("probe", x.value().clone(), {x},
                               [saved = std::move(saved)](const Tensor& gradient) { return gradient; });
  (void)backward(sum(y));
  BOOST_CHECK(!watch.expired());
  (void)backward(sum(y), {.graph = Graph::release});
  BOOST_CHECK(watch.expired());
  expect_throw<TensorError>([&] { (void)backward(sum(y)); },
                            "[backward] probe: an earlier backward pass released its graph");
}

BOOST_AUTO_TEST_SUITE_END()
