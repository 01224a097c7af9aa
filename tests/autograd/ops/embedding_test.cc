#include "autograd/ops/embedding.h"

#include "autograd/ops.h"
#include "tests/autograd/expect.h"

using namespace troupe;
using namespace troupe::testing;

BOOST_AUTO_TEST_SUITE(ops_embedding)

namespace {

constexpr std::array kModes{BagMode::sum, BagMode::mean, BagMode::max};

Tensor numbers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }
Variable table() { return leaf({1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0}, {4, 2}); }

/// Returns the bags {0, 2}, {} and {3, 3}.
Variable bags_of(const Variable& weight, const EmbeddingBagOptions& options, const Variable& samples = {}) {
  return embedding_bag(weight, numbers({0, 2, 3, 3}), numbers({0, 2, 2}), options, samples);
}

/// Returns the gradients if element i of `result` has weight i + 1.
Gradients weighted_gradients(const Variable& result) {
  const Tensor weights = add(arange(result.shape().numel(), DType::f64), 1.0);
  return backward(sum(result * Variable(weights.reshape(result.shape()))));
}

}  // namespace

BOOST_AUTO_TEST_CASE(padding_gets_no_gradient) {
  const Variable weight = table();
  const Tensor index = numbers({3, 1, 3});
  expect(embedding(weight, index, {.padding_idx = 1}).value(), {4.0, 40.0, 2.0, 20.0, 4.0, 40.0}, {3, 2});
  expect(gradient_of(weight, embedding(weight, index)), {0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 6.0, 8.0}, {4, 2});
  expect(gradient_of(weight, embedding(weight, index, {.padding_idx = -3})), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0, 8.0},
         {4, 2});
  const SparseTensor rows =
      weighted_gradients(embedding(weight, index, {.padding_idx = 1, .sparse = true})).sparse_of(weight);
  expect(rows.indices(), {3.0}, {1, 1});
  expect(rows.values(), {6.0, 8.0}, {1, 2});
  expect_throw<IndexError>([&] { (void)embedding(weight, index, {.padding_idx = 4}); },
                           "[embedding] padding index out of range: 4 of 4");
}

BOOST_AUTO_TEST_CASE(rows_of_bags_share_the_gradient_of_their_bag) {
  const Variable weight = table();
  // The gradients of the bags are (1, 2), (3, 4) and (5, 6).
  const auto check = [&](const EmbeddingBagOptions& options, std::initializer_list<double> expected) {
    EmbeddingBagOptions asked = options;
    for (const bool sparse : {false, true}) {
      asked.sparse = sparse;
      const Gradients found = weighted_gradients(bags_of(weight, asked));
      expect(found.of(weight), expected, {4, 2});
      BOOST_TEST(found.sparse_of(weight).defined() == sparse);
    }
  };
  check({.mode = BagMode::sum}, {1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 10.0, 12.0});
  check({.mode = BagMode::mean}, {0.5, 1.0, 0.0, 0.0, 0.5, 1.0, 5.0, 6.0});
  check({.mode = BagMode::max}, {0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 6.0});
  check({.mode = BagMode::sum, .padding_idx = 3}, {1.0, 2.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0});
  check({.mode = BagMode::mean, .padding_idx = 0}, {0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 6.0});
  const Variable equal = leaf({7.0, 7.0, 6.0}, {3, 1});
  expect(gradient_of(equal, embedding_bag(equal, numbers({2, 1, 0}), numbers({0}), {.mode = BagMode::max})),
         {0.0, 1.0, 0.0}, {3, 1});
  const SparseTensor rows =
      weighted_gradients(bags_of(weight, {.mode = BagMode::sum, .padding_idx = 2, .sparse = true})).sparse_of(weight);
  expect(rows.indices(), {0.0, 3.0}, {1, 2});
  expect(rows.values(), {1.0, 2.0, 10.0, 12.0}, {2, 2});
  BOOST_TEST(rows.is_coalesced());
}

BOOST_AUTO_TEST_CASE(weights_of_samples_have_gradients_too) {
  const Variable weight = table();
  const Variable samples = leaf({1.0, 0.5, 2.0, -1.0});
  for (const bool sparse : {false, true}) {
    const Gradients found = weighted_gradients(bags_of(weight, {.mode = BagMode::sum, .sparse = sparse}, samples));
    expect(found.of(weight), {1.0, 2.0, 0.0, 0.0, 0.5, 1.0, 5.0, 6.0}, {4, 2});
    expect(found.of(samples), {21.0, 63.0, 260.0, 260.0});  // 1*1 + 10*2, 3*1 + 30*2, 4*5 + 40*6
    const Gradients of_samples =
        backward(sum(bags_of(weight.detach(), {.mode = BagMode::sum, .sparse = sparse}, samples)));
    BOOST_TEST(of_samples.size() == 1U);
    expect(of_samples.of(samples), {11.0, 33.0, 44.0, 44.0});
  }
}

BOOST_AUTO_TEST_CASE(bags_agree_with_finite_differences) {
  const Tensor index = numbers({0, 2, 3, 1, 1, 3});
  const Tensor offsets = numbers({0, 1, 4, 4});
  for (const bool sparse : {false, true}) {
    for (const BagMode mode : kModes) {
      expect_gradcheck(
          [&](Inputs v) { return tanh(embedding_bag(v[0], index, offsets, {.mode = mode, .sparse = sparse}) * 0.1); },
          {table()});
      expect_gradcheck(
          [&](Inputs v) {
            return tanh(embedding_bag(v[0] * 0.1, index, offsets, {.mode = mode, .padding_idx = 1, .sparse = sparse}));
          },
          {table()});
    }
    expect_gradcheck(
        [&](Inputs v) {
          return tanh(
              embedding_bag(v[0], index, offsets, {.mode = BagMode::sum, .padding_idx = 3, .sparse = sparse}, v[1]) *
              0.1);
        },
        {table(), leaf({1.0, 0.5, 2.0, -1.0, 3.0, 0.25})});
    expect_gradcheck([&](Inputs v) { return tanh(embedding(v[0], index, {.sparse = sparse}) * 0.1); }, {table()});
  }
}

BOOST_AUTO_TEST_CASE(empty_bags_and_no_bags_have_gradients_of_zeros) {
  const Variable weight = table();
  for (const bool sparse : {false, true}) {
    for (const BagMode mode : kModes) {
      const Variable empty = embedding_bag(weight, numbers({}), numbers({0, 0}), {.mode = mode, .sparse = sparse});
      expect(backward(sum(empty)).of(weight), {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {4, 2});
    }
  }
}

BOOST_AUTO_TEST_CASE(what_backward_needs_must_not_be_written_to) {
  const Variable weight = table();
  Tensor index = numbers({0, 1});
  const Variable result = embedding_bag(weight, index, numbers({0}), {.mode = BagMode::sum});
  index.fill(2.0);
  BOOST_CHECK_THROW((void)backward(sum(result)), BackwardError);
}

BOOST_AUTO_TEST_SUITE_END()
