#include "tensor/ops/attention.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/math_threads.h"
#include "tensor/ops.h"
#include "tensor/ops/nn.h"
#include "tests/tensor/expect.h"

using namespace troupe;

BOOST_AUTO_TEST_SUITE(ops_attention)

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The formula, which holds all scores at once.
Tensor composed(const Tensor& query, const Tensor& key, const Tensor& value,
                const ScaledDotProductOptions& options = {}, Generator* generator = nullptr) {
  const double scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
  Tensor scores = matmul(query, key.transpose()) * scale;
  if (options.mask.defined()) {
    const Tensor& mask = options.mask;
    scores = mask.dtype() == DType::boolean ? where(mask, scores, full({}, -kInfinity, scores.dtype())) : scores + mask;
  }
  if (options.causal) {
    const Tensor later = triu(ones({query.size(-2), key.size(-2)}, DType::boolean), 1);
    scores = masked_fill(scores, later, -kInfinity);
  }
  Tensor weights = softmax(scores);
  if (generator != nullptr)
    weights = weights * dropout_mask(weights.shape(), options.dropout, *generator, weights.dtype());
  return matmul(weights, value);
}

Tensor random(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  Generator generator(seed);
  return randn(shape, generator, dtype);
}

struct Inputs {
  Tensor query, key, value;
};

Inputs random_inputs(const Shape& query, const Shape& key, const Shape& value, DType dtype = DType::f64) {
  return {random(query, 1, dtype), random(key, 2, dtype), random(value, 3, dtype)};
}

/// Fails unless the operation equals the formula, in f64 and f32, on one thread and on two.
void expect_composed(const Inputs& in, const ScaledDotProductOptions& options = {}) {
  const Tensor expected = composed(in.query, in.key, in.value, options);
  for (const int threads : {1, 2}) {
    const MathThreads guard(threads);
    expect_close(scaled_dot_product_attention(in.query, in.key, in.value, options), expected, 1e-11, 1e-13);
    const DType f32 = DType::f32;
    expect_close(scaled_dot_product_attention(in.query.to(f32), in.key.to(f32), in.value.to(f32), options),
                 expected.to(f32), 1e-4, 1e-5);  // sums of some thousand products, each with an error of 6e-8
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_query_gets_the_values_weighted_by_its_keys) {
  const Tensor query = from_values<double>({1.0}, {1, 1});
  const Tensor key = from_values<double>({0.0, std::log(3.0)}, {2, 1});
  const Tensor value = from_values<double>({8.0, 4.0}, {2, 1});
  expect_close(scaled_dot_product_attention(query, key, value), from_values<double>({5.0}, {1, 1}),
               1e-15);  // 8/4 + 3*4/4
  const auto forward = scaled_dot_product_attention_forward(query, key, value, {}, nullptr);
  expect_close(forward.sums, from_values<double>({std::log(3.0), std::log(4.0 / 3.0)}, {1, 2}), 1e-15);  // 1/3 + 1
  // e = 4: scores 2 * log(3) / sqrt(4); twice that with a scale of 1.
  const Tensor wide = from_values<double>({2, 0, 0, 0}, {1, 4});
  const Tensor keys = from_values<double>({0, 7, 7, 7, std::log(3.0), 7, 7, 7}, {2, 4});
  expect_close(scaled_dot_product_attention(wide, keys, value), from_values<double>({5.0}, {1, 1}), 1e-15);
  expect_close(scaled_dot_product_attention(wide, keys, value, {.scale = 1.0}), from_values<double>({4.4}, {1, 1}),
               1e-15);  // 8/10 + 9*4/10
}

BOOST_AUTO_TEST_CASE(masks_hide_keys_or_are_added_to_scores) {
  const Tensor query = zeros({3, 1}, DType::f64);
  const Tensor value = from_values<double>({3.0, 6.0, 12.0}, {3, 1});
  const auto attend = [&](const ScaledDotProductOptions& options) {
    return scaled_dot_product_attention(query, query, value, options).view({3});
  };
  expect_close(attend({.causal = true}), from_values<double>({3.0, 4.5, 7.0}), 1e-15);
  const Tensor shown = from_values<bool>({true, false, true});
  expect_close(attend({.mask = shown}), from_values<double>({7.5, 7.5, 7.5}), 1e-15);
  expect_close(attend({.mask = shown, .causal = true}), from_values<double>({3.0, 3.0, 7.5}), 1e-15);
  const Tensor added = from_values<double>({0.0, std::log(2.0), -kInfinity});
  expect_close(attend({.mask = added}), from_values<double>({5.0, 5.0, 5.0}), 1e-15);  // 3/3 + 2*6/3
  const Tensor by_query = from_values<bool>({true, true, false}, {3, 1});
  expect_close(attend({.mask = by_query}).slice(0, 0, 2), from_values<double>({7.0, 7.0}), 1e-15);
}

BOOST_AUTO_TEST_CASE(blocks_of_queries_give_what_all_scores_at_once_give) {
  expect_composed(random_inputs({500, 8}, {300, 8}, {300, 5}));
  expect_composed(random_inputs({40, 3}, {5000, 3}, {5000, 2}));
  expect_composed(random_inputs({2, 3, 70, 16}, {2, 3, 65, 16}, {2, 3, 65, 16}));
  for (const Shape& length : {Shape{300, 300}, Shape{300, 100}, Shape{100, 300}}) {
    const Inputs in = random_inputs({2, length[0], 4}, {2, length[1], 4}, {2, length[1], 3});
    expect_composed(in, {.causal = true});
    const Tensor shown = ge(random({length[0], length[1]}, 4), -0.5);
    shown.select(1, 0).fill(1.0);
    expect_composed(in, {.mask = shown});
    expect_composed(in, {.mask = shown, .causal = true, .scale = -0.3});
    expect_composed(in, {.mask = random({2, length[0], length[1]}, 5), .causal = true});
  }
}

BOOST_AUTO_TEST_CASE(batches_and_masks_broadcast) {
  const Inputs in = random_inputs({2, 1, 4, 6}, {3, 5, 6}, {1, 1, 5, 2});
  BOOST_CHECK_EQUAL(scaled_dot_product_attention(in.query, in.key, in.value).shape(), (Shape{2, 3, 4, 2}));
  expect_composed(in);
  for (const Shape& mask : {Shape{}, Shape{5}, Shape{1}, Shape{4, 1}, Shape{4, 5}, Shape{3, 1, 5}, Shape{2, 1, 1, 5}}) {
    expect_composed(in, {.mask = random(mask, 7)});
    expect_composed(in, {.mask = ge(random(mask, 8), -9.0)});
  }
}

BOOST_AUTO_TEST_CASE(the_layout_of_the_arguments_does_not_matter) {
  const Inputs in = random_inputs({5, 4, 2, 6}, {6, 4, 7, 2}, {14, 2, 4, 3});
  // Heads between steps and elements, transposed matrices, every other row.
  const Inputs views{in.query.permute({2, 1, 0, 3}), in.key.permute({3, 1, 2, 0}),
                     in.value.slice(0, 0, 14, 2).permute({1, 2, 0, 3})};
  expect_composed(views);
  const Tensor mask = random({7, 5}, 9).transpose();
  expect_composed(views, {.mask = mask});
  expect_composed({in.query.select(0, 0).select(0, 0).slice(0, 0, 1).expand({4, 6}), random({1, 6}, 1).expand({3, 6}),
                   random({3, 1}, 2).expand({3, 2})});
  Tensor gaps = random({7, 12}, 3);
  expect_composed({gaps.slice(1, 0, 12, 2), gaps.slice(1, 0, 12, 2), gaps}, {.mask = gaps.slice(1, 0, 7)});
}

BOOST_AUTO_TEST_CASE(a_query_from_which_every_key_is_hidden_gives_nan_and_no_other_does) {
  const Inputs in = random_inputs({2, 3}, {4, 3}, {4, 2});
  const Tensor shown = from_values<bool>({false, false, false, false, true, true, false, true}, {2, 4});
  const Tensor added = where(shown, zeros({}), full({}, -kInfinity));
  for (const Tensor& mask : {shown, added}) {
    const Tensor found = scaled_dot_product_attention(in.query, in.key, in.value, {.mask = mask});
    BOOST_CHECK(all(isnan(found.select(0, 0))).item<bool>());
    expect_close(found.select(0, 1), composed(in.query, in.key, in.value, {.mask = mask}).select(0, 1), 1e-13);
  }
}

BOOST_AUTO_TEST_CASE(where_there_is_nothing_the_result_is_empty_or_zero) {
  const auto attend = [](const Shape& query, const Shape& key, const Shape& value) {
    const Inputs in = random_inputs(query, key, value, DType::f32);
    return scaled_dot_product_attention(in.query, in.key, in.value, {.causal = true});
  };
  expect_same(attend({2, 3, 4}, {2, 0, 4}, {2, 0, 5}), zeros({2, 3, 5}));
  expect_same(attend({2, 0, 4}, {2, 3, 4}, {2, 3, 5}), zeros({2, 0, 5}));
  expect_same(attend({0, 3, 4}, {0, 2, 4}, {0, 2, 5}), zeros({0, 3, 5}));
  expect_same(attend({3, 4}, {2, 4}, {2, 0}), zeros({3, 0}));
}

BOOST_AUTO_TEST_CASE(dropout_takes_the_draws_of_a_mask_of_all_weights) {
  for (const Shape& length : {Shape{3, 5}, Shape{300, 257}}) {
    const Inputs in = random_inputs({2, 2, length[0], 4}, {2, 2, length[1], 4}, {2, 2, length[1], 3});
    for (const bool causal : {false, true}) {
      Generator a(6);
      Generator b(6);
      const ScaledDotProductOptions options{.causal = causal, .dropout = 0.3};
      const MathThreads two(2);
      expect_close(scaled_dot_product_attention(in.query, in.key, in.value, options, a),
                   composed(in.query, in.key, in.value, options, &b), 1e-11, 1e-13);
      BOOST_CHECK(a == b);
    }
  }
}

BOOST_AUTO_TEST_CASE(dtypes_are_promoted_and_16_bits_rounded_once) {
  const Inputs in = random_inputs({3, 4}, {5, 4}, {5, 2}, DType::f32);
  expect_rounded(
      [](const Tensor& q, const Tensor& k, const Tensor& v) { return scaled_dot_product_attention(q, k, v); }, in.query,
      in.key, in.value);
  BOOST_CHECK(scaled_dot_product_attention(in.query, in.key.to(DType::f64), in.value).dtype() == DType::f64);
  const Tensor counts = ones({2, 2}, DType::i64);
  expect_same(scaled_dot_product_attention(counts, counts, counts), ones({2, 2}));
}

BOOST_AUTO_TEST_CASE(only_the_gradients_that_are_wanted_are_made_and_they_are_the_same) {
  const Inputs in = random_inputs({2, 3, 4}, {2, 5, 4}, {2, 5, 3});
  const ScaledDotProductOptions options{.mask = random({3, 5}, 4), .causal = true};
  const auto forward = scaled_dot_product_attention_forward(in.query, in.key, in.value, options, nullptr);
  const auto backward = [&](const ScaledDotProductWanted& wanted) {
    const auto by = scaled_dot_product_attention_backward(random({2, 3, 3}, 5), in.query, in.key, in.value, forward,
                                                          options, wanted);
    return std::vector<Tensor>{by.query, by.key, by.value, by.mask};
  };
  const std::vector<Tensor> all = backward({.mask = true});
  for (unsigned bits = 0; bits < 16; ++bits) {
    const std::vector<Tensor> some = backward({(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0, (bits & 8U) != 0});
    for (unsigned i = 0; i < 4; ++i) {
      if ((bits >> i & 1U) != 0) expect_same(some[i], all[i]);
      else BOOST_TEST(!some[i].defined());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_of_a_mask_is_that_of_the_scores) {
  // Weights 1/4 and 3/4 of the values 8 and 4 give 5. By the scores: 1/4 (8 - 5) and 3/4 (4 - 5).
  const Tensor query = ones({2, 1}, DType::f64);
  const Tensor key = from_values<double>({0.0, std::log(3.0)}, {2, 1});
  const Tensor value = from_values<double>({8.0, 4.0}, {2, 1});
  const auto by_mask = [&](const Tensor& mask) {
    const ScaledDotProductOptions options{.mask = mask};
    const auto forward = scaled_dot_product_attention_forward(query, key, value, options, nullptr);
    const ScaledDotProductWanted wanted{false, false, false, true};
    return scaled_dot_product_attention_backward(ones({2, 1}, DType::f64), query, key, value, forward, options, wanted)
        .mask;
  };
  expect_close(by_mask(zeros({2, 2}, DType::f64)), from_values<double>({0.75, -0.75, 0.75, -0.75}, {2, 2}), 1e-15);
  expect_close(by_mask(zeros({2}, DType::f64)), from_values<double>({1.5, -1.5}), 1e-15);
  expect_close(by_mask(zeros({2})), from_values<float>({1.5, -1.5}), 1e-7);
  expect_close(by_mask(zeros({}, DType::f64)), zeros({}, DType::f64), 0.0, 1e-14);  // the gradients by the keys cancel
  expect_error<DTypeError>("[scaled_dot_product_attention_backward] no gradient of a mask that is boolean",
                           [&] { (void)by_mask(ones({2}, DType::boolean)); });
  expect_error<TensorError>("[scaled_dot_product_attention_backward] tensor is undefined", [&] { (void)by_mask({}); });
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named) {
  const auto attend = [](const Shape& query, const Shape& key, const Shape& value,
                         const ScaledDotProductOptions& options = {}) {
    (void)scaled_dot_product_attention(ones(query), ones(key), ones(value), options);
  };
  const std::string op = "[scaled_dot_product_attention] ";
  expect_error<ShapeError>(op + "fewer than 2 dimensions: query (3), key (4, 3), value (4, 3)", [&] {
    attend({3}, {4, 3}, {4, 3});
  });
  expect_error<ShapeError>(op + "sizes differ: query (2, 8), key (5, 6), value (5, 6)", [&] {
    attend({2, 8}, {5, 6}, {5, 6});
  });
  expect_error<ShapeError>(op + "sizes differ: query (2, 8), key (5, 8), value (4, 8)", [&] {
    attend({2, 8}, {5, 8}, {4, 8});
  });
  expect_error<ShapeError>(op + "nothing to compare: query (2, 0), key (5, 0), value (5, 3)", [&] {
    attend({2, 0}, {5, 0}, {5, 3});
  });
  expect_error<ShapeError>(op + "shapes do not broadcast: (2) and (3)", [&] { attend({2, 2, 8}, {3, 5, 8}, {5, 8}); });
  expect_error<ShapeError>(op + "mask is (4, 4), nothing that broadcasts to (2, 5)", [&] {
    attend({2, 8}, {5, 8}, {5, 8}, {.mask = ones({4, 4})});
  });
  expect_error<ShapeError>(op + "mask is (1, 2, 5), nothing that broadcasts to (2, 5)", [&] {
    attend({2, 8}, {5, 8}, {5, 8}, {.mask = ones({1, 2, 5})});
  });
  expect_error<DTypeError>(op + "mask is i64, not boolean or floating", [&] {
    attend({2, 8}, {5, 8}, {5, 8}, {.mask = ones({2, 5}, DType::i64)});
  });
  expect_error<ValueError>(op + "dropout outside [0, 1): 1", [&] { attend({2, 8}, {5, 8}, {5, 8}, {.dropout = 1.0}); });
  expect_error<ValueError>(op + "dropout draws, and there is no generator", [&] {
    attend({2, 8}, {5, 8}, {5, 8}, {.dropout = 0.5});
  });
  expect_error<TensorError>(op + "tensor is undefined", [&] {
    (void)scaled_dot_product_attention({}, ones({1, 1}), ones({1, 1}));
  });
  const Tensor one = ones({1, 1});
  const auto forward = scaled_dot_product_attention_forward(one, one, one, {}, nullptr);
  expect_error<ShapeError>("[scaled_dot_product_attention_backward] shapes differ: (2, 1) and (1, 1)", [&] {
    (void)scaled_dot_product_attention_backward(ones({2, 1}), one, one, one, forward, {});
  });
}

BOOST_AUTO_TEST_SUITE_END()
