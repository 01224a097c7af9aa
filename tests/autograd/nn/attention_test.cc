#include "autograd/nn/attention.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/autograd/expect.h"
#include "tests/support/gpu.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(nn_attention)

namespace {

Variable random(const Shape& shape, std::uint64_t seed = 5) {
  Generator generator(seed);
  return Variable(uniform(shape, -1.0, 1.0, generator, DType::f64));
}

constexpr nn::AttentionOptions kF64{.dtype = DType::f64};

/// Makes all projections of one head of width 1 the identity: scores are products of query and key.
nn::MultiheadAttention& identity_of(nn::MultiheadAttention& layer) {
  layer.parameters()[0].set_value(ones({3, 1}, DType::f64));
  layer.parameters()[2].set_value(ones({1, 1}, DType::f64));
  return layer;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_query_gets_the_values_weighted_by_its_keys) {
  Generator generator(1);
  nn::MultiheadAttention layer(1, 1, generator, kF64);
  identity_of(layer);
  const Variable query = from_values<double>({1.0}, {1, 1, 1});
  const Variable key = from_values<double>({0.0, std::log(3.0)}, {2, 1, 1});
  const Variable value = from_values<double>({8.0, 4.0}, {2, 1, 1});
  const nn::AttentionResult result = layer.forward(query, key, value, {}, nn::AttentionWeights::averaged);
  expect(result.weights.value(), {0.25, 0.75}, {1, 1, 2});  // 1 : 3
  expect(result.output.value(), {5.0}, {1, 1, 1});          // 8/4 + 3*4/4
  BOOST_CHECK(!layer.forward(query, key, value).weights.defined());
}

BOOST_AUTO_TEST_CASE(gradient_of_a_query_without_keys_is_nan_unless_booleans_hide_them_from_returned_weights) {
  Generator generator(1);
  nn::MultiheadAttention layer(1, 1, generator, kF64);
  identity_of(layer);
  const Variable key = from_values<double>({0.5, 1.0}, {2, 1, 1});
  const auto gradient = [&](const Tensor& mask, nn::AttentionWeights weights) {
    const Variable query = leaf({1.0}, {1, 1, 1});
    return backward(sum(layer.forward(query, key, key, {.attention = mask}, weights).output)).of(query).item();
  };
  const Tensor hides = ones({1, 2}, DType::boolean);
  const Tensor added = full({1, 2}, -std::numeric_limits<double>::infinity(), DType::f64);
  BOOST_TEST(std::isnan(gradient(hides, nn::AttentionWeights::none)));
  BOOST_TEST(std::isnan(gradient(added, nn::AttentionWeights::none)));
  for (const auto weights : {nn::AttentionWeights::averaged, nn::AttentionWeights::per_head}) {
    BOOST_TEST(gradient(hides, weights) == 0.0);
    BOOST_TEST(std::isnan(gradient(added, weights)));
  }
}

BOOST_AUTO_TEST_CASE(masks_hide_keys_and_a_floating_one_is_added) {
  Generator generator(1);
  nn::MultiheadAttention layer(1, 1, generator, kF64);
  identity_of(layer);
  const Variable x = from_values<double>({0.0, 0.0, 0.0}, {3, 1, 1});
  const auto weights = [&](const nn::AttentionMasks& masks) {
    return layer.forward(x, x, x, masks, nn::AttentionWeights::per_head).weights.value().view({3, 3});
  };
  const double third = 1.0 / 3.0;
  expect(weights({.causal = true}), {1.0, 0.0, 0.0, 0.5, 0.5, 0.0, third, third, third}, {3, 3});
  const Tensor last = from_values<bool>({false, false, true}, {1, 3});
  expect(weights({.padding = last}), {0.5, 0.5, 0.0, 0.5, 0.5, 0.0, 0.5, 0.5, 0.0}, {3, 3});
  expect(weights({.padding = last, .causal = true}), {1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.5, 0.5, 0.0}, {3, 3});
  const Tensor added = full({3, 3}, 0.0, DType::f64);
  Tensor shifted = added.clone();
  shifted.select(1, 0).fill(std::log(2.0));
  expect(weights({.attention = shifted}), {0.5, 0.25, 0.25, 0.5, 0.25, 0.25, 0.5, 0.25, 0.25}, {3, 3});
}

BOOST_AUTO_TEST_CASE(inputs_that_are_equal_give_the_same_as_inputs_that_are_the_same) {
  Generator generator(2);
  nn::MultiheadAttention layer(6, 2, generator, kF64);
  const Variable x = random({4, 2, 6});
  const Variable copy(x.value());
  const Variable other(x.value());
  const Tensor expected = layer.forward(x, x, x).output.value();
  BOOST_CHECK(allclose(layer.forward(x, copy, other).output.value(), expected, 1e-12, 1e-14));
  BOOST_CHECK(allclose(layer.forward(x, copy, copy).output.value(), expected, 1e-12, 1e-14));
  nn::MultiheadAttention by_example(6, 2, generator, {.batch_first = true, .dtype = DType::f64});
  for (std::size_t i = 0; i < 4; ++i) by_example.parameters()[i].set_value(layer.parameters()[i].value());
  const Variable turned(x.value().transpose(0, 1));
  BOOST_CHECK(
      allclose(by_example.forward(turned, turned, turned).output.value().transpose(0, 1), expected, 1e-12, 1e-14));
}

BOOST_AUTO_TEST_CASE(the_output_is_the_same_whether_weights_are_asked_for_or_not) {
  const Variable x = random({5, 2, 6}, 7);
  Tensor hidden = gt(random({4, 5, 5}, 8).value(), 0.5);
  hidden.select(2, 0).fill(0.0);
  const Tensor added = random({5, 5}, 9).value();
  const Tensor padding = from_values<bool>({false, false, false, true, false, false, false, false, true, true}, {2, 5});
  const std::vector<nn::AttentionMasks> all{{},
                                            {.causal = true},
                                            {.attention = hidden},
                                            {.attention = added, .causal = true},
                                            {.padding = padding, .causal = true},
                                            {.attention = added, .padding = padding},
                                            {.attention = hidden, .padding = padding}};
  for (const nn::AttentionMasks& masks : all) {
    const auto output = [&](nn::AttentionWeights wanted) {
      Generator generator(3);  // for equal parameters and equal draws of dropout
      nn::MultiheadAttention layer(6, 2, generator, {.dropout = 0.3, .dtype = DType::f64});
      static_cast<void>(layer.forward(x, x, x, masks, wanted));
      return layer.forward(x, x, x, masks, wanted).output.value();
    };
    BOOST_CHECK(allclose(output(nn::AttentionWeights::none), output(nn::AttentionWeights::per_head), 1e-12, 1e-14));
  }
}

BOOST_AUTO_TEST_CASE(attention_on_a_gpu_has_the_outputs_weights_and_gradients_of_the_cpu,
                     *boost::unit_test::label("needs_gpu") * boost::unit_test::precondition(NeedsGpus{1})) {
  const Tensor input = random({5, 2, 6}, 7).value();
  const Tensor added = random({5, 5}, 9).value();
  const Tensor padding = from_values<bool>({false, false, false, true, false, false, false, false, true, true}, {2, 5});
  const auto run = [&](Device device, bool causal, nn::AttentionWeights wanted) {
    Generator generator(3);  // for equal parameters and equal draws of dropout
    nn::MultiheadAttention layer(6, 2, generator, {.dropout = 0.3, .dtype = DType::f64});
    layer.to(device);
    const Variable x(input.to(device), RequiresGrad::yes);
    const nn::AttentionMasks masks{.attention = added.to(device), .padding = padding.to(device), .causal = causal};
    const nn::AttentionResult result = layer.forward(x, x, x, masks, wanted);
    std::vector<Tensor> found{result.output.value()};
    if (result.weights.defined()) found.push_back(result.weights.value());
    const Gradients gradients = backward(sum(result.output * result.output));
    found.push_back(gradients.of(x));
    for (const Variable& parameter : layer.parameters()) found.push_back(gradients.of(parameter));
    return found;
  };
  for (const bool causal : {false, true}) {
    for (const auto wanted :
         {nn::AttentionWeights::none, nn::AttentionWeights::averaged, nn::AttentionWeights::per_head}) {
      const std::vector<Tensor> there = run(Device::cuda(), causal, wanted);
      const std::vector<Tensor> here = run(Device::cpu(), causal, wanted);
      for (std::size_t i = 0; i < here.size(); ++i) {
        BOOST_CHECK(there[i].device() == Device::cuda());
        BOOST_CHECK(allclose(there[i].to(Device::cpu()), here[i], 1e-12, 1e-13));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(attention_agrees_with_finite_differences) {
  Generator generator(3);
  nn::MultiheadAttention layer(4, 2, generator, kF64);
  const auto leaf_of = [](const Variable& x) { return Variable(x.value(), RequiresGrad::yes); };
  expect_gradcheck([&](Inputs v) { return layer.forward(v[0], v[1], v[2], {.causal = true}).output; },
                   {leaf_of(random({3, 2, 4}, 1)), leaf_of(random({3, 2, 4}, 2)), leaf_of(random({3, 2, 4}, 3))});
}

BOOST_AUTO_TEST_CASE(weights_are_dropped_while_training_alone) {
  Generator generator(4);
  nn::MultiheadAttention layer(4, 2, generator, {.dropout = 0.5, .dtype = DType::f64});
  const Variable x = random({6, 2, 4});
  BOOST_CHECK(!same_bytes(layer.forward(x, x, x).output.value(), layer.forward(x, x, x).output.value()));
  layer.eval();
  BOOST_CHECK(same_bytes(layer.forward(x, x, x).output.value(), layer.forward(x, x, x).output.value()));
}

BOOST_AUTO_TEST_CASE(parameters_have_torchs_names_and_first_values) {
  Generator generator(5);
  const nn::MultiheadAttention layer(8, 2, generator);
  std::vector<std::string> names;
  for (const auto& [name, parameter] : layer.named_parameters()) names.push_back(name);
  const std::vector<std::string> expected{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"};
  BOOST_TEST(names == expected, boost::test_tools::per_element());
  const std::vector<Variable> parameters = layer.parameters();
  BOOST_CHECK(max(abs(parameters[0].value())).item() <= std::sqrt(6.0 / 32.0));
  BOOST_CHECK_EQUAL(max(abs(parameters[1].value())).item(), 0.0);
  BOOST_CHECK_EQUAL(max(abs(parameters[3].value())).item(), 0.0);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  Generator generator(6);
  expect_throw<ValueError>([&] { nn::MultiheadAttention(10, 3, generator); },
                           "[MultiheadAttention] width 10 in 3 heads");
  expect_throw<ValueError>([&] { nn::MultiheadAttention(6, 3, generator, {.dropout = 1.0}); },
                           "[MultiheadAttention] dropout outside [0, 1): 1");
  nn::MultiheadAttention layer(8, 2, generator, kF64);
  const auto run = [&](const Shape& query, const Shape& key, const Shape& value, const nn::AttentionMasks& masks = {}) {
    (void)layer.forward(random(query), random(key), random(value), masks);
  };
  expect_throw<ShapeError>(
      [&] {
        run({4, 2, 6}, {4, 2, 6}, {4, 2, 6});
      },
      "[MultiheadAttention] query is not (steps, examples, 8): (4, 2, 6)");
  expect_throw<ShapeError>(
      [&] {
        run({4, 2, 8}, {5, 3, 8}, {5, 2, 8});
      },
      "[MultiheadAttention] key and value do not fit the query (4, 2, 8): (5, 3, 8), (5, 2, 8)");
  expect_throw<ShapeError>(
      [&] {
        run({4, 2, 8}, {5, 2, 8}, {5, 2, 8}, {.attention = zeros({4, 4})});
      },
      "[MultiheadAttention] attention mask is (4, 4), not (4, 5) or (4, 4, 5)");
  expect_throw<DTypeError>(
      [&] {
        run({4, 2, 8}, {5, 2, 8}, {5, 2, 8}, {.attention = zeros({4, 5}, DType::i64)});
      },
      "[MultiheadAttention] attention mask is i64, not boolean or floating");
  expect_throw<ShapeError>(
      [&] {
        run({4, 2, 8}, {5, 2, 8}, {5, 2, 8}, {.padding = zeros({2, 4}, DType::boolean)});
      },
      "[MultiheadAttention] padding mask is (2, 4), not (2, 5)");
  expect_throw<DTypeError>(
      [&] {
        run({4, 2, 8}, {5, 2, 8}, {5, 2, 8}, {.padding = zeros({2, 5})});
      },
      "[MultiheadAttention] padding mask is f32, not boolean");
}

BOOST_AUTO_TEST_SUITE_END()
