#include "autograd/ops/norm.h"

#include <cmath>
#include <limits>

#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_norm)

namespace {

Variable random_leaf(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return Variable(randn(shape, generator, DType::f64), RequiresGrad::yes);
}

const BatchNormOptions kOfRunning{.statistics = NormStatistics::running};

RunningStatistics running(std::int64_t channels) {
  Generator generator(3);
  return {randn({channels}, generator, DType::f64), uniform({channels}, 0.5, 2.0, generator, DType::f64)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_batch_gives_the_gradients_worked_out_by_hand) {
  // Mean 1.5, deviation 1.5, so y = -1, -1, 1, 1. With g = 1, 2, 3, 4: sum(g) = 10, sum(g y) = 4.
  const Variable x = leaf({0.0, 0.0, 3.0, 3.0}, {4, 1});
  const Variable weight = leaf({3.0});
  const Variable bias = leaf({1.0});
  const Variable y = batch_norm(x, {}, weight, bias, {.eps = 0.0}).output;
  expect(y.value(), {-2.0, -2.0, 4.0, 4.0}, {4, 1});
  expect(gradient_of(x, y), {-1.0, 1.0, -1.0, 1.0}, {4, 1});  // 3 (g - 10/4 - y * 4/4) / 1.5
  expect(gradient_of(weight, y), {4.0});
  expect(gradient_of(bias, y), {10.0});
}

BOOST_AUTO_TEST_CASE(batch_norm_agrees_with_finite_differences) {
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 3, 4}, Shape{2, 3, 2, 3}}) {
    expect_gradcheck([](Inputs v) { return batch_norm(v[0], {}, v[1], v[2]).output; },
                     {random_leaf(shape, 1), random_leaf({3}, 2), random_leaf({3}, 3)});
    expect_gradcheck([](Inputs v) { return batch_norm(v[0], running(3), v[1], v[2], kOfRunning).output; },
                     {random_leaf(shape, 1), random_leaf({3}, 2), random_leaf({3}, 3)});
  }
  expect_gradcheck([](Inputs v) { return batch_norm(v[0]).output; }, {random_leaf({5, 2}, 4)});
}

BOOST_AUTO_TEST_CASE(layers_groups_and_instances_agree_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return layer_norm(v[0], {4}, v[1], v[2]); },
                   {random_leaf({3, 4}, 1), random_leaf({4}, 2), random_leaf({4}, 3)});
  expect_gradcheck(
      [](Inputs v) {
        return layer_norm(v[0], {2, 3}, v[1]);
      },
      {random_leaf({3, 2, 3}, 1), random_leaf({2, 3}, 2)});
  expect_gradcheck([](Inputs v) { return layer_norm(v[0], {3}); }, {random_leaf({2, 3}, 1)});
  expect_gradcheck([](Inputs v) { return group_norm(v[0], 2, v[1], v[2]); },
                   {random_leaf({2, 4, 3}, 1), random_leaf({4}, 2), random_leaf({4}, 3)});
  expect_gradcheck([](Inputs v) { return group_norm(v[0], 2); }, {random_leaf({2, 6}, 1)});
  expect_gradcheck([](Inputs v) { return instance_norm(v[0], v[1], v[2]); },
                   {random_leaf({2, 3, 4}, 1), random_leaf({3}, 2), random_leaf({3}, 3)});
}

BOOST_AUTO_TEST_CASE(gradients_have_the_dtypes_of_their_variables) {
  Generator generator(1);
  const Variable x(randn({4, 3}, generator, DType::bf16), RequiresGrad::yes);
  const Variable weight(ones({3}), RequiresGrad::yes);
  const Variable bias(zeros({3}, DType::f64), RequiresGrad::yes);
  const BatchNormVariable result = batch_norm(x, {zeros({3}), ones({3})}, weight, bias);
  BOOST_CHECK(result.output.dtype() == DType::bf16);
  BOOST_CHECK(result.running.mean.dtype() == DType::f32);
  const Gradients gradients = backward(sum(result.output));
  BOOST_CHECK(gradients.of(x).dtype() == DType::bf16);
  BOOST_CHECK(gradients.of(weight).dtype() == DType::f32);
  BOOST_CHECK(gradients.of(bias).dtype() == DType::f64);
}

BOOST_AUTO_TEST_CASE(a_constant_weight_takes_no_gradient_and_x_may_be_constant) {
  const Variable x = random_leaf({3, 2}, 1);
  const Variable weight = leaf({1.0, 2.0});
  const Gradients of_x = backward(sum(batch_norm(x, {}, weight.detach()).output));
  BOOST_TEST(of_x.of(x).defined());
  BOOST_TEST(of_x.size() == 1U);
  const Gradients of_weight = backward(sum(batch_norm(x.detach(), {}, weight).output));
  BOOST_TEST(of_weight.of(weight).defined());
  BOOST_TEST(of_weight.size() == 1U);
}

BOOST_AUTO_TEST_CASE(errors_are_those_of_the_tensor_operation) {
  expect_throw<ShapeError>([] { (void)group_norm(random_leaf({2, 3}, 1), 2); }, "[group_norm] 3 channels in 2 groups");
}

BOOST_AUTO_TEST_CASE(with_running_statistics_the_gradient_by_x_does_not_depend_on_the_distance_from_the_mean) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = from_values<double>({1.0, inf, std::nan(""), 1e308, 2.0}, {1, 5});
  const Tensor mean = from_values<double>({inf, 0.0, 0.0, -1e308, std::nan("")});
  const RunningStatistics given{mean, full({5}, 0.25, DType::f64)};
  for (const Shape& shape : {Shape{1, 5}, Shape{1, 5, 2}}) {
    const Variable at(x.reshape({1, 5, -1}).expand({1, 5, shape.numel() / 5}).reshape(shape), RequiresGrad::yes);
    const BatchNormOptions options{.statistics = NormStatistics::running, .eps = 0.0};
    const Variable y = batch_norm(at, given, Variable(full({5}, 3.0, DType::f64)), {}, options).output;
    BOOST_CHECK(allclose(backward(sum(y)).of(at), full(shape, 6.0, DType::f64)));  // 3 / 0.5
  }
}

BOOST_AUTO_TEST_SUITE_END()
