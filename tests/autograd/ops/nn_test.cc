#include "autograd/ops/nn.h"

#include "autograd/engine.h"
#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_nn)

namespace {

/// A leaf with distinct elements, further apart than the steps of a gradcheck.
Variable filled(const Shape& shape) {
  Generator generator(11);
  const Tensor order = permutation(shape.numel(), generator).to(DType::f64);
  return Variable(sub(mul(order, 2.0 / static_cast<double>(shape.numel())), 0.9).reshape(shape), RequiresGrad::yes);
}

}  // namespace

BOOST_AUTO_TEST_CASE(linear_multiplies_with_the_transposed_weight_and_adds_the_bias) {
  const Variable x = leaf({1.0, 2.0, 3.0, 4.0}, {2, 2});
  const Variable weight = leaf({1.0, 10.0, 100.0, 1000.0}, {2, 2});
  const Variable bias = leaf({0.5, 0.25});
  const Variable y = linear(x, weight, bias);
  expect(y.value(), {21.5, 2100.25, 43.5, 4300.25}, {2, 2});  // 1*1 + 2*10 + 0.5, 1*100 + 2*1000 + 0.25, ...
  const Gradients gradients = backward(sum(y));
  expect(gradients.of(x), {101.0, 1010.0, 101.0, 1010.0}, {2, 2});
  expect(gradients.of(weight), {4.0, 6.0, 4.0, 6.0}, {2, 2});
  expect(gradients.of(bias), {2.0, 2.0});
}

BOOST_AUTO_TEST_CASE(linear_agrees_with_finite_differences) {
  for (const Shape& x : {Shape{4}, Shape{3, 4}, Shape{2, 3, 4}}) {
    expect_gradcheck([](Inputs v) { return tanh(linear(v[0], v[1], v[2])); }, {filled(x), filled({2, 4}), filled({2})});
    expect_gradcheck([](Inputs v) { return tanh(linear(v[0], v[1])); }, {filled(x), filled({2, 4})});
  }
  expect_gradcheck([](Inputs v) { return linear(transpose(v[0]), transpose(v[1])); }, {filled({4, 3}), filled({4, 2})});
}

BOOST_AUTO_TEST_CASE(linear_refuses_sizes_that_differ) {
  expect_throw<ShapeError>(
      [] {
        (void)linear(filled({8, 4}), filled({3, 5}));
      },
      "[linear] sizes differ: x (8, 4), weight (3, 5)");
}

BOOST_AUTO_TEST_CASE(linear_refuses_a_bias_that_would_change_the_shape_of_the_result) {
  const Variable x = filled({1, 3});
  const Variable weight(filled({4, 3}).value());
  for (const Shape& given : {Shape{2, 4}, Shape{1, 1, 4}, Shape{3}}) {
    expect_throw<ShapeError>([&] { (void)linear(x, weight, filled(given)); },
                             "[linear] bias does not fit: " + to_string(given) + " for (1, 4)");
  }
  for (const Shape& given : {Shape{}, Shape{1}, Shape{1, 4}}) {
    const Variable bias = filled(given);
    BOOST_TEST((backward(sum(linear(x, weight, bias))).of(bias).shape() == given));
  }
}

BOOST_AUTO_TEST_CASE(softmax_and_its_logarithm_agree_with_finite_differences) {
  for (int dim : {0, -1}) {
    expect_gradcheck([&](Inputs v) { return softmax(v[0], dim); }, {filled({2, 3})});
    expect_gradcheck([&](Inputs v) { return log_softmax(v[0], dim); }, {filled({2, 3})});
    expect_gradcheck([&](Inputs v) { return softmin(v[0], dim); }, {filled({2, 3})});
  }
  expect_gradcheck([](Inputs v) { return log_softmax(transpose(v[0])); }, {filled({3, 2})});
}

BOOST_AUTO_TEST_CASE(dropout_gives_the_same_mask_to_values_and_gradients) {
  Generator generator(3);
  const Variable x(ones({1000}, DType::f64), RequiresGrad::yes);
  const Variable y = dropout(x, 0.5, generator);
  const Tensor gradient = backward(sum(y)).of(x);
  BOOST_CHECK(same_bytes(gradient, y.value()));
  const double kept = sum(gt(gradient, 0.0)).item();
  BOOST_CHECK(kept > 400.0 && kept < 600.0);  // 500 +- 16 expected
  expect(max(gradient), 2.0);
  expect_gradcheck(
      [](Inputs v) {
        Generator fixed(5);
        return dropout(v[0], 0.3, fixed);
      },
      {filled({3, 3})});
}

BOOST_AUTO_TEST_CASE(distances_and_what_is_normalized_agree_with_finite_differences) {
  for (const double p : {1.0, 2.0, 3.0}) {
    expect_gradcheck([p](Inputs v) { return pairwise_distance(v[0], v[1] + 0.04, p); },
                     {filled({3, 4}), filled({1, 4})});
    for (const int dim : {0, 1}) expect_gradcheck([=](Inputs v) { return normalize(v[0], p, dim); }, {filled({2, 3})});
  }
  const Variable tiny = leaf({0.25, 0.0}, {1, 2});
  expect(backward(sum(normalize(tiny, 2.0, 1, 0.5))).of(tiny), {2.0, 2.0}, {1, 2});
}

BOOST_AUTO_TEST_CASE(the_gradient_of_cosine_similarity_of_vectors_of_any_length) {
  for (const double length : {1e19, 1e37, 1e-3}) {
    const Variable a(mul(from_values<double>({3.0, 4.0}, {1, 2}), length).to(DType::f32), RequiresGrad::yes);
    const Variable b(mul(from_values<double>({4.0, 3.0}, {1, 2}), length).to(DType::f32));
    // (b / |b| - 0.96 a / |a|) / |a| = (0.8 - 0.576, 0.6 - 0.768) / 5
    const Tensor expected = from_values<float>({0.0448F, -0.0336F}, {1, 2});
    BOOST_CHECK(allclose(mul(backward(sum(cosine_similarity(a, b))).of(a), length), expected, 1e-4));
  }
}

BOOST_AUTO_TEST_CASE(bilinear_agrees_with_finite_differences) {
  const auto form = [](Inputs v) { return bilinear(v[0], v[1], v[2], v[3]); };
  expect_gradcheck(form, {drawn({2, 3, 2}, 1), drawn({2, 3, 4}, 2), drawn({5, 2, 4}, 3), drawn({5}, 4)});
  const Variable a = leaf({1.0, 2.0});
  const Variable weight = leaf({1, 2, 3, 4}, {1, 2, 2});
  expect(backward(sum(bilinear(a, leaf({1.0, 0.0}), weight))).of(a), {1.0, 3.0});  // the first column
}

BOOST_AUTO_TEST_CASE(local_response_norm_agrees_with_finite_differences) {
  expect_gradcheck([](Inputs v) { return local_response_norm(v[0], 3, 0.5, 0.75, 1.5); }, {drawn({2, 4, 3}, 1)});
  expect_gradcheck([](Inputs v) { return local_response_norm(v[0], 2); }, {drawn({1, 3, 2, 2}, 2)});
}

BOOST_AUTO_TEST_SUITE_END()
