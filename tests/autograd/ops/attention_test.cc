#include "autograd/ops/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "autograd/checkpoint.h"
#include "autograd/ops/nn.h"
#include "tensor/math_threads.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_attention)

namespace {

Variable random(const Shape& shape, std::uint64_t seed) {
  Generator generator(seed);
  return Variable(randn(shape, generator, DType::f64), RequiresGrad::yes);
}

/// The formula, composed of other operations.
Variable composed(Inputs v, const ScaledDotProductOptions& options, Generator& generator) {
  Variable scores = matmul(v[0], transpose(v[1])) * (1.0 / std::sqrt(static_cast<double>(v[0].shape().back())));
  const double out = -std::numeric_limits<double>::infinity();
  if (options.mask.defined()) scores = masked_fill(scores, logical_not(options.mask), out);
  if (options.causal) scores = masked_fill(scores, triu(ones(scores.shape(), DType::boolean), 1), out);
  const Variable weights = softmax(scores);
  return matmul(options.dropout > 0.0 ? dropout(weights, options.dropout, generator) : weights, v[2]);
}

void expect_gradients_of_the_formula(const std::vector<Variable>& inputs, const ScaledDotProductOptions& options) {
  const auto gradients = [&](bool fused) {
    return gradients_of(
        [&](Inputs v) {
          Generator generator(4);
          return fused ? scaled_dot_product_attention(v[0], v[1], v[2], options, generator)
                       : composed(v, options, generator);
        },
        inputs);
  };
  const Gradients found = gradients(true);
  const Gradients expected = gradients(false);
  for (const Variable& input : inputs) BOOST_CHECK(allclose(found.of(input), expected.of(input), 1e-10, 1e-12));
}

}  // namespace

BOOST_AUTO_TEST_CASE(gradients_have_the_hand_values) {
  // Weights 1/4 and 3/4 of the values 8 and 4 give 5. By the scores: 1/4 (8 - 5) and 3/4 (4 - 5).
  const Variable query = leaf({1.0}, {1, 1});
  const Variable key = leaf({0.0, std::log(3.0)}, {2, 1});
  const Variable value = leaf({8.0, 4.0}, {2, 1});
  const Variable result = scaled_dot_product_attention(query, key, value);
  expect(result.value(), {5.0}, {1, 1});
  const Gradients gradients = backward(sum(result));
  expect(gradients.of(value), {0.25, 0.75}, {2, 1});
  expect(gradients.of(key), {0.75, -0.75}, {2, 1});
  expect(gradients.of(query), {-0.75 * std::log(3.0)}, {1, 1});
}

BOOST_AUTO_TEST_CASE(attention_agrees_with_finite_differences) {
  const std::vector<Variable> inputs{random({2, 3, 4}, 1), random({2, 5, 4}, 2), random({2, 5, 3}, 3)};
  const auto check = [&](const ScaledDotProductOptions& options) {
    expect_gradcheck(
        [&](Inputs v) {
          Generator generator(9);
          return scaled_dot_product_attention(v[0], v[1], v[2], options, generator);
        },
        inputs);
  };
  check({});
  check({.causal = true});
  check({.mask = from_values<bool>({true, false, true, true, false})});
  check({.mask = random({3, 5}, 4).value(), .scale = 0.7});
  check({.causal = true, .dropout = 0.4});
}

BOOST_AUTO_TEST_CASE(gradients_of_what_broadcasts_or_lies_otherwise_have_the_shape_of_the_inputs) {
  const auto attend = [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2]); };
  expect_gradcheck(attend, {random({2, 1, 3, 4}, 1), random({2, 2, 4}, 2), random({1, 2, 2}, 3)});
  expect_gradcheck(
      [](Inputs v) { return scaled_dot_product_attention(transpose(v[0]), transpose(v[1]), transpose(v[0])); },
      {random({3, 4}, 1), random({3, 4}, 2)});
  expect_gradcheck(attend, {random({2, 0, 4}, 1), random({2, 3, 4}, 2), random({2, 3, 1}, 3)});
  expect_gradcheck(attend, {random({2, 3, 4}, 1), random({2, 0, 4}, 2), random({2, 0, 1}, 3)});
}

BOOST_AUTO_TEST_CASE(a_mask_that_is_learned_has_a_gradient_of_its_shape) {
  const auto plain = [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2], v[3]); };
  const auto causal = [](Inputs v) {
    Generator generator(9);
    return scaled_dot_product_attention(v[0], v[1], v[2], v[3], {.causal = true, .dropout = 0.3}, generator);
  };
  const auto with_mask = [](const Shape& mask) {
    return std::vector{random({2, 2, 3, 4}, 1), random({2, 2, 5, 4}, 2), random({2, 2, 5, 2}, 3), random(mask, 4)};
  };
  for (const Shape& mask : {Shape{3, 5}, Shape{2, 2, 3, 5}, Shape{2, 1, 3, 5}, Shape{2, 1, 5}, Shape{5}}) {
    expect_gradcheck(plain, with_mask(mask));
    expect_gradcheck(causal, with_mask(mask));
  }
  // A mask that raises all scores of a query equally has a gradient of 0. In 16 bits only its rounding remains.
  for (const Shape& mask : {Shape{1, 3, 1}, Shape{}}) {
    for (const auto& found : {gradcheck(plain, with_mask(mask)), gradcheck(causal, with_mask(mask))})
      BOOST_TEST(found.ok, found.worst);
  }
  const Variable x = random({3, 2}, 1);
  const Variable shown(gt(random({3, 3}, 2).value(), -9.0));
  BOOST_TEST(
      same_bytes(scaled_dot_product_attention(x, x, x, shown).value(), scaled_dot_product_attention(x, x, x).value()));
  expect_throw<ValueError>([&] { (void)scaled_dot_product_attention(x, x, x, shown, {.mask = shown.value()}); },
                           "[scaled_dot_product_attention] two masks");
}

BOOST_AUTO_TEST_CASE(blocks_of_queries_give_the_gradient_of_a_mask_on_any_number_of_threads) {
  for (const Shape& mask : {Shape{300, 280}, Shape{2, 1, 1, 280}, Shape{3, 300, 280}, Shape{300, 1}}) {
    const std::vector<Variable> inputs{random({2, 3, 300, 4}, 1), random({2, 3, 280, 4}, 2), random({2, 3, 280, 2}, 3),
                                       random(mask, 4)};
    const auto composed = [](Inputs v) { return matmul(softmax(matmul(v[0], transpose(v[1])) * 0.5 + v[3]), v[2]); };
    const Tensor expected = gradients_of(composed, inputs).of(inputs[3]);
    const auto fused = [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2], v[3]); };
    const Tensor found = gradients_of(fused, inputs).of(inputs[3]);
    BOOST_CHECK(allclose(found, expected, 1e-9, 1e-12));
    const MathThreads two(2);
    BOOST_CHECK(same_bytes(gradients_of(fused, inputs).of(inputs[3]), found));
  }
}

BOOST_AUTO_TEST_CASE(blocks_of_queries_give_the_gradients_of_the_formula) {
  const std::vector<Variable> inputs{random({2, 300, 5}, 1), random({2, 270, 5}, 2), random({2, 270, 3}, 3)};
  Generator generator(8);
  Tensor shown = gt(rand({300, 270}, generator), 0.2);
  shown.select(1, 0).fill(1.0);
  expect_gradients_of_the_formula(inputs, {});
  expect_gradients_of_the_formula(inputs, {.causal = true});
  expect_gradients_of_the_formula(inputs, {.mask = shown, .causal = true});
  expect_gradients_of_the_formula(inputs, {.mask = shown, .dropout = 0.25});
}

BOOST_AUTO_TEST_CASE(scores_far_from_0_give_the_gradients_of_the_formula) {
  const auto composed = [](Inputs v) { return matmul(softmax(matmul(v[0], transpose(v[1])) * 0.5 + v[3]), v[2]); };
  const auto fused = [](Inputs v) { return scaled_dot_product_attention(v[0], v[1], v[2], v[3]); };
  for (const DType dtype : {DType::f32, DType::f64}) {
    // Whole numbers: no product rounds, so that both make the same scores.
    const auto whole = [&](const Shape& shape, std::uint64_t seed) {
      return Variable(round(random(shape, seed).value() * 2.0).to(dtype), RequiresGrad::yes);
    };
    const std::vector<Variable> vectors{whole({2, 6, 4}, 1), whole({2, 5, 4}, 2), whole({2, 5, 3}, 3)};
    const double tolerance = dtype == DType::f32 ? 2e-5 : 1e-13;
    const double lowest = dtype == DType::f32 ? static_cast<double>(std::numeric_limits<float>::lowest())
                                              : std::numeric_limits<double>::lowest();
    for (const double far : {-1e9, 1e5, -1e18, lowest}) {
      const Tensor all = full({6, 5}, far, dtype);
      const Tensor some = where(triu(ones({6, 5}, DType::boolean), 1), all, zeros({6, 5}, dtype));
      for (const Tensor& mask : {all, some}) {
        std::vector<Variable> inputs = vectors;
        inputs.emplace_back(mask, RequiresGrad::yes);
        const Gradients found = gradients_of(fused, inputs);
        const Gradients expected = gradients_of(composed, inputs);
        for (const Variable& input : inputs) {
          const double apart = max(abs(found.of(input) - expected.of(input))).item();
          BOOST_TEST(apart < tolerance, name_of(dtype) << " mask of " << far << ", gradients apart by " << apart);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(inputs_that_need_no_gradient_get_none) {
  const Variable query = random({2, 3}, 1);
  const Variable constant(random({4, 3}, 2).value());
  const Gradients gradients = backward(sum(scaled_dot_product_attention(query, constant, constant)));
  BOOST_CHECK_EQUAL(gradients.of(query).shape(), (Shape{2, 3}));
}

BOOST_AUTO_TEST_CASE(a_mask_that_was_written_to_fails_the_backward_pass) {
  const Variable x = random({3, 2}, 1);
  Tensor mask = ones({3, 3}, DType::boolean);
  const Variable result = sum(scaled_dot_product_attention(x, x, x, {.mask = mask}));
  mask.select(1, 2).fill(0.0);
  expect_throw<BackwardError>([&] { (void)backward(result); },
                              "[backward] scaled_dot_product_attention: a value that it saved, boolean (3, 3), was "
                              "written to afterwards: version 2, saved at version 1");
}

BOOST_AUTO_TEST_CASE(dropout_under_a_checkpoint_leaves_out_the_same_weights_again) {
  const Variable x = random({6, 4}, 1);
  const ScaledDotProductOptions options{.dropout = 0.5};
  Generator plain(3);
  const Gradients expected = backward(sum(scaled_dot_product_attention(x, x, x, options, plain)));
  Generator generator(3);
  const Variable result =
      checkpoint([&](const Variable& v) { return scaled_dot_product_attention(v, v, v, options, generator); }, x);
  BOOST_CHECK(same_bytes(backward(sum(result)).of(x), expected.of(x)));
  BOOST_CHECK(generator == plain);
}

BOOST_AUTO_TEST_SUITE_END()
