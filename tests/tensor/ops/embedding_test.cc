#include "tensor/ops/embedding.h"

#include <limits>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_embedding)

namespace {

constexpr std::array kModes{BagMode::sum, BagMode::mean, BagMode::max};

Tensor numbers(std::initializer_list<std::int64_t> values) { return from_values<std::int64_t>(values); }
Tensor table() { return from_values<float>({1, 10, 2, 20, 3, 30, 4, 40}, {4, 2}); }

/// Returns the bags {0, 2}, {} and {3, 3}.
Tensor bags_of(const EmbeddingBagOptions& options, const Tensor& samples = {}) {
  return embedding_bag(table(), numbers({0, 2, 3, 3}), numbers({0, 2, 2}), options, samples);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bags_are_summed_averaged_and_maximised) {
  expect_same(bags_of({.mode = BagMode::sum}), from_values<float>({4, 40, 0, 0, 8, 80}, {3, 2}));
  expect_same(bags_of({}), from_values<float>({2, 20, 0, 0, 4, 40}, {3, 2}));
  expect_same(bags_of({.mode = BagMode::max}), from_values<float>({3, 30, 0, 0, 4, 40}, {3, 2}));
  // 1 r0 + 0.5 r2, and 2 r3 - 1 r3
  const Tensor samples = from_values<float>({1, 0.5, 2, -1});
  expect_same(bags_of({.mode = BagMode::sum}, samples), from_values<float>({2.5, 25, 0, 0, 4, 40}, {3, 2}));
}

BOOST_AUTO_TEST_CASE(bags_begin_where_offsets_say_or_have_one_size) {
  const EmbeddingBagOptions sums{.mode = BagMode::sum, .include_last_offset = true};
  expect_same(embedding_bag(table(), numbers({0, 2, 3, 3}), numbers({0, 2, 2, 4}), sums),
              bags_of({.mode = BagMode::sum}));
  const Tensor square = from_values<std::int32_t>({0, 2, 3, 3}, {2, 2});
  expect_same(embedding_bag(table(), square, {}, {.mode = BagMode::sum}), from_values<float>({4, 40, 8, 80}, {2, 2}));
  expect_same(embedding_bag(table(), square, {}, {.mode = BagMode::sum}, from_values<float>({1, 0.5, 2, -1}, {2, 2})),
              from_values<float>({2.5, 25, 4, 40}, {2, 2}));
  expect_same(embedding_bag(table(), numbers({1}), from_values<std::int32_t>({0})),
              from_values<float>({2, 20}, {1, 2}));
}

BOOST_AUTO_TEST_CASE(padding_counts_nothing) {
  expect_same(bags_of({.mode = BagMode::sum, .padding_idx = 3}), from_values<float>({4, 40, 0, 0, 0, 0}, {3, 2}));
  expect_same(bags_of({.padding_idx = -2}), from_values<float>({1, 10, 0, 0, 4, 40}, {3, 2}));  // without row 2
  expect_same(bags_of({.mode = BagMode::max, .padding_idx = 2}), from_values<float>({1, 10, 0, 0, 4, 40}, {3, 2}));
}

BOOST_AUTO_TEST_CASE(bags_of_any_size_are_those_of_embedding_and_a_reduction) {
  Generator g(3);
  for (const std::int64_t width : {1, 64, 600}) {
    const Tensor weight = randn({50, width}, g, DType::f64);
    const Tensor index = randint(0, 50, {7, 30}, g);
    const Tensor rows = embedding(weight, index);
    expect_close(embedding_bag(weight, index, {}, {.mode = BagMode::sum}), sum(rows, 1), 1e-12, 1e-13);
    expect_close(embedding_bag(weight, index, {}, {.mode = BagMode::mean}), mean(rows, 1), 1e-12, 1e-13);
    expect_same(embedding_bag(weight, index, {}, {.mode = BagMode::max}), max(rows, 1));
    expect_same(embedding_bag(weight.transpose().contiguous().transpose(), index), embedding_bag(weight, index));
    expect_same(embedding_bag(weight, index.transpose().contiguous().transpose()), embedding_bag(weight, index));
    for (const BagMode mode : kModes) {
      expect_rounded([&](const Tensor& w) { return embedding_bag(w, index, {}, {.mode = mode}); },
                     weight.to(DType::f32));
      const Tensor many = randint(0, 50, {4000, 30}, g);
      const MathThreads one(1);
      const Tensor alone = embedding_bag(weight, many, {}, {.mode = mode});
      const MathThreads three(3);
      expect_same(embedding_bag(weight, many, {}, {.mode = mode}), alone);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_nan_is_the_largest) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Tensor weight = from_values<float>({1, kNan, 2}, {3, 1});
  expect_same(embedding_bag(weight, numbers({0, 1, 2}), numbers({0}), {.mode = BagMode::max}),
              from_values<float>({kNan}, {1, 1}));
}

BOOST_AUTO_TEST_CASE(no_bags_and_no_rows_are_allowed) {
  const Tensor none = numbers({});
  for (const BagMode mode : kModes) {
    BOOST_TEST(embedding_bag(table(), none, none, {.mode = mode}).shape() == (Shape{0, 2}));
    expect_same(embedding_bag(table(), none, numbers({0, 0}), {.mode = mode}), zeros({2, 2}));
    expect_same(embedding_bag(zeros({0, 2}), none, numbers({0}), {.mode = mode}), zeros({1, 2}));
    BOOST_TEST(embedding_bag(zeros({3, 0}), numbers({1}), numbers({0}), {.mode = mode}).shape() == (Shape{1, 0}));
    expect_same(embedding_bag(table(), zeros({2, 0}, DType::i64), {}, {.mode = mode}), zeros({2, 2}));
  }
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  const Tensor index = numbers({0, 1, 2, 3, 0});
  const Tensor offsets = numbers({0, 3});
  const auto bag = [&](const Tensor& i, const Tensor& o, const EmbeddingBagOptions& options = {},
                       const Tensor& samples = {}) {
    return [=] { (void)embedding_bag(table(), i, o, options, samples); };
  };
  expect_error<IndexError>("[embedding_bag] index out of range: 4 of 4", bag(numbers({4}), numbers({0})));
  expect_error<IndexError>("[embedding_bag] padding index out of range: 4 of 4",
                           bag(index, offsets, {.padding_idx = 4}));
  expect_error<IndexError>("[embedding_bag] padding index out of range: -5 of 4",
                           bag(index, offsets, {.padding_idx = -5}));
  expect_error<ShapeError>("[embedding_bag] an index of 1 dimensions needs offsets", bag(index, {}));
  expect_error<ShapeError>("[embedding_bag] offsets for an index of 2 dimensions",
                           bag(zeros({2, 2}, DType::i64), offsets));
  expect_error<ShapeError>("[embedding_bag] index of 3 dimensions", bag(zeros({2, 2, 2}, DType::i64), {}));
  expect_error<ShapeError>("[embedding_bag] not 1 dimensions: (2, 2)", bag(index, zeros({2, 2}, DType::i64)));
  expect_error<DTypeError>("[embedding_bag] offsets are f32, not i64 or i32", bag(index, zeros({1})));
  expect_error<ValueError>("[embedding_bag] offsets begin with 1, not 0", bag(index, numbers({1})));
  expect_error<ValueError>("[embedding_bag] offsets begin with nothing, not 0",
                           bag(index, numbers({}), {.include_last_offset = true}));
  expect_error<ValueError>("[embedding_bag] offset 3 after 5", bag(index, numbers({0, 5, 3})));
  expect_error<ValueError>("[embedding_bag] offset 7 of 5", bag(index, numbers({0, 7})));
  expect_error<ValueError>("[embedding_bag] offsets end with 4, not 5",
                           bag(index, numbers({0, 4}), {.include_last_offset = true}));
  expect_error<ValueError>("[embedding_bag] weights of samples need mode sum", bag(index, offsets, {}, ones({5})));
  expect_error<ShapeError>("[embedding_bag] weights of samples do not fit: (3) for (5)",
                           bag(index, offsets, {.mode = BagMode::sum}, ones({3})));
  expect_error<DTypeError>("[embedding_bag] needs a floating dtype: i64",
                           bag(index, offsets, {.mode = BagMode::sum}, index));
  expect_error<DTypeError>("[embedding_bag] needs a floating dtype: i64", [&] {
    (void)embedding_bag(index.view({5, 1}), index, offsets);
  });
  expect_error<ShapeError>("[embedding_bag] not 2 dimensions: (5)",
                           [&] { (void)embedding_bag(zeros({5}), index, offsets); });
}

BOOST_AUTO_TEST_SUITE_END()
