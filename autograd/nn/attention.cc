#include "autograd/nn/attention.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "autograd/nn/init.h"
#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/ops/attention.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"

namespace troupe::nn {
namespace {

constexpr const char* kName = "MultiheadAttention";

std::shared_ptr<Linear> output_projection(std::int64_t width, Generator& generator, const AttentionOptions& options) {
  auto layer = std::make_shared<Linear>(width, width, generator, options.bias, options.dtype);
  if (options.bias == Bias::yes) zeros_(layer->bias());
  return layer;
}

/// Returns a tensor that is true where a mask other than the causal one hides a key. Its shape broadcasts to (n, heads,
/// l, s). Undefined if nothing is hidden.
Tensor hidden_keys(const AttentionMasks& masks, const Shape& scores) {
  Tensor hidden;
  const auto hide = [&](const Tensor& mask) { hidden = hidden.defined() ? logical_or(hidden, mask) : mask; };
  if (masks.attention.defined() && masks.attention.dtype() == DType::boolean) {
    hide(masks.attention.dim() == 3 ? masks.attention.reshape(scores) : masks.attention);
  }
  if (masks.padding.defined()) hide(masks.padding.reshape({scores[0], 1, 1, scores[3]}));
  return hidden;
}

/// Returns the masks that are added to scores, in a shape that broadcasts to theirs; undefined if there are none.
Tensor added_to_scores(const AttentionMasks& masks, const Shape& scores) {
  if (!masks.attention.defined() || !is_floating(masks.attention.dtype())) return {};
  return masks.attention.dim() == 3 ? masks.attention.reshape(scores) : masks.attention;
}

/// Returns all masks but the causal one, joined into the mask of scaled_dot_product_attention.
Tensor joined_masks(const AttentionMasks& masks, const Shape& scores) {
  const Tensor hidden = hidden_keys(masks, scores);
  const Tensor added = added_to_scores(masks, scores);
  if (!added.defined()) return hidden.defined() ? logical_not(hidden) : hidden;
  if (!hidden.defined()) return added;
  return where(hidden, full({}, -std::numeric_limits<double>::infinity(), added.dtype(), added.device()), added);
}

void check_masks(const AttentionMasks& masks, const Shape& scores) {
  const Shape by_pair{scores[2], scores[3]};
  const Shape by_head{scores[0] * scores[1], scores[2], scores[3]};
  const Tensor& attention = masks.attention;
  if (attention.defined() && attention.shape() != by_pair && attention.shape() != by_head) {
    throw ShapeError(fmt::format("[{}] attention mask is {}, not {} or {}", kName, to_string(attention.shape()),
                                 to_string(by_pair), to_string(by_head)));
  }
  if (attention.defined() && attention.dtype() != DType::boolean && !is_floating(attention.dtype())) {
    throw DTypeError(
        fmt::format("[{}] attention mask is {}, not boolean or floating", kName, name_of(attention.dtype())));
  }
  if (!masks.padding.defined()) return;
  const Shape by_example{scores[0], scores[3]};
  const bool fits =
      masks.padding.shape() == by_example || (scores[0] == 1 && masks.padding.shape() == Shape{scores[3]});
  if (!fits) {
    throw ShapeError(
        fmt::format("[{}] padding mask is {}, not {}", kName, to_string(masks.padding.shape()), to_string(by_example)));
  }
  if (masks.padding.dtype() != DType::boolean) {
    throw DTypeError(fmt::format("[{}] padding mask is {}, not boolean", kName, name_of(masks.padding.dtype())));
  }
}

}  // namespace

/// The queries, keys and values of all heads: (n, heads, steps, width / heads).
struct MultiheadAttention::Projected {
  Variable query;
  Variable key;
  Variable value;
};

MultiheadAttention::MultiheadAttention(std::int64_t width, std::int64_t heads, Generator& generator,
                                       const AttentionOptions& options)
    : width_(width), heads_(heads), options_(options), generator_(generator.next_u64()) {
  if (width < 1 || heads < 1 || width % heads != 0) {
    throw ValueError(fmt::format("[{}] width {} in {} heads", kName, width, heads));
  }
  if (!(options.dropout >= 0.0 && options.dropout < 1.0)) {
    throw ValueError(fmt::format("[{}] dropout outside [0, 1): {}", kName, options.dropout));
  }
  in_weight_ = add_parameter("in_proj_weight", xavier_uniform({3 * width, width}, generator, 1.0, options.dtype));
  if (options.bias == Bias::yes) in_bias_ = add_parameter("in_proj_bias", zeros({3 * width}, options.dtype));
  out_ = add_module("out_proj", output_projection(width, generator, options));
  add_generator("generator", generator_);
}

AttentionResult MultiheadAttention::forward(const Variable& asking, const Variable& keyed, const Variable& valued,
                                            const AttentionMasks& masks, AttentionWeights wanted) {
  const auto [query, key, value] = detail::one_version_of(asking, keyed, valued);
  const Shape shape = query.shape();
  check(shape, key.shape(), value.shape());
  if (shape.size() == 2) {
    const int at = options_.batch_first ? 0 : 1;
    const Variable keys = unsqueeze(key, at);
    const AttentionResult result =
        forward(unsqueeze(query, at), keys, same(key, value) ? keys : unsqueeze(value, at), masks, wanted);
    return {squeeze(result.output, at), result.weights.defined() ? squeeze(result.weights, 0) : Variable()};
  }
  const Projected projected = project(query, key, value);
  const Shape heads = projected.query.shape();
  const Shape scores{heads[0], heads[1], heads[2], projected.key.shape()[2]};
  check_masks(masks, scores);
  if (wanted == AttentionWeights::none) {
    const ScaledDotProductOptions options{
        .mask = joined_masks(masks, scores), .causal = masks.causal, .dropout = dropout_now()};
    return {out_->forward(join_heads(
                scaled_dot_product_attention(projected.query, projected.key, projected.value, options, generator_))),
            {}};
  }
  const Variable used = weights(projected, masks, scores);
  const Variable output = out_->forward(join_heads(matmul(used, projected.value)));
  if (wanted == AttentionWeights::averaged) return {output, mean(used, 1)};
  if (wanted == AttentionWeights::per_head) return {output, used};
  throw ValueError(fmt::format("[{}] no kind of weights has the number {}", kName, static_cast<int>(wanted)));
}

double MultiheadAttention::dropout_now() const { return mode() == Mode::train ? options_.dropout : 0.0; }

void MultiheadAttention::check(const Shape& query, const Shape& key, const Shape& value) const {
  const bool batched = query.size() == 3;
  if ((!batched && query.size() != 2) || query[query.size() - 1] != width_) {
    const char* const order = options_.batch_first ? "examples, steps" : "steps, examples";
    throw ShapeError(fmt::format("[{}] query is not ({}, {}): {}", kName, order, width_, to_string(query)));
  }
  Shape wanted = query;
  const int steps = batched && options_.batch_first ? 1 : 0;
  if (key.size() == query.size()) wanted[steps] = key[steps];
  if (key != wanted || value != wanted) {
    throw ShapeError(fmt::format("[{}] key and value do not fit the query {}: {}, {}", kName, to_string(query),
                                 to_string(key), to_string(value)));
  }
}

/// Inputs that are the same variable share one matrix product.
MultiheadAttention::Projected MultiheadAttention::project(const Variable& query, const Variable& key,
                                                          const Variable& value) const {
  if (same(query, key) && same(key, value)) {
    const std::vector<Variable> parts = chunk(linear(query, in_weight_, in_bias_), 3, -1);
    return {split_heads(parts[0]), split_heads(parts[1]), split_heads(parts[2])};
  }
  const auto in = detail::one_version_of(in_weight_, in_bias_);
  const auto project_part = [&](const Variable& x, std::int64_t first, std::int64_t count) {
    const auto part = [&](const Variable& all) { return narrow(all, 0, first * width_, count * width_); };
    return linear(x, part(in[0]), in[1].defined() ? part(in[1]) : Variable());
  };
  const Variable projected_query = split_heads(project_part(query, 0, 1));
  if (same(key, value)) {
    const std::vector<Variable> parts = chunk(project_part(key, 1, 2), 2, -1);
    return {projected_query, split_heads(parts[0]), split_heads(parts[1])};
  }
  return {projected_query, split_heads(project_part(key, 1, 1)), split_heads(project_part(value, 2, 1))};
}

Variable MultiheadAttention::split_heads(const Variable& x) const {
  const Shape shape = x.shape();
  const Variable heads = reshape(x, {shape[0], shape[1], heads_, width_ / heads_});
  return options_.batch_first ? permute(heads, std::array{0, 2, 1, 3}) : permute(heads, std::array{1, 2, 0, 3});
}

Variable MultiheadAttention::join_heads(const Variable& x) const {
  const Variable in_order =
      options_.batch_first ? permute(x, std::array{0, 2, 1, 3}) : permute(x, std::array{2, 0, 1, 3});
  const Shape shape = in_order.shape();
  return reshape(in_order, {shape[0], shape[1], width_});
}

/// Returns the attention weights after dropout.
Variable MultiheadAttention::weights(const Projected& projected, const AttentionMasks& masks, const Shape& scores) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(width_ / heads_));
  Variable result = matmul(projected.query * scale, transpose(projected.key));
  const Tensor added = added_to_scores(masks, scores);
  if (added.defined()) result = result + Variable(added.to(result.dtype()));
  const auto hide = [&](const Tensor& hidden) {
    result = masked_fill(result, hidden, -std::numeric_limits<double>::infinity());
  };
  if (masks.causal) hide(triu(ones({scores[2], scores[3]}, DType::boolean), 1).to(result.device()));
  if (const Tensor hidden = hidden_keys(masks, scores); hidden.defined()) hide(hidden);
  result = softmax(result, -1);
  return dropout_now() > 0.0 ? dropout(result, dropout_now(), generator_) : result;
}

}  // namespace troupe::nn
