#include "tensor/ops/attention.h"

#include <fmt/format.h>
#include <array>

#include <cmath>
#include <string>
#include <string_view>

#include "tensor/compute_watcher.h"
#include "tensor/create.h"
#include "tensor/decompositions/attention_of_products.h"
#include "tensor/kernels/attention.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/windows.h"

namespace troupe {
namespace {

constexpr std::string_view kAttention = "scaled_dot_product_attention";

/// Returns the sizes before the last two dimensions.
Shape leading(const Tensor& x) {
  return Shape(std::span<const std::int64_t>(x.shape().begin(), static_cast<std::size_t>(x.dim() - 2)));
}

/// Checked sizes and the arguments of the kernels.
class Attention {
 public:
  Attention(const Tensor& query, const Tensor& key, const Tensor& value, const ScaledDotProductOptions& options)
      : query_(query), key_(key), value_(value) {
    check_sizes();
    Shape batch = broadcast_shapes(kAttention, leading(query), leading(key));
    batch = broadcast_shapes(kAttention, batch, leading(value));
    scores_ = joined(batch, {query.size(-2), key.size(-2)});
    output_ = joined(batch, {query.size(-2), value.size(-1)});
    dtype_ = promote_to_floating(promote(promote(query.dtype(), key.dtype()), value.dtype()));
    how_.scale = options.scale.value_or(1.0 / std::sqrt(static_cast<double>(query.size(-1))));
    how_.causal = options.causal;
    if (options.mask.defined()) how_.mask = mask_rows(options.mask);
  }

  /// Enables dropout. `draws`: the state of the generator before the dropout draws.
  void drop(double share, const std::optional<Generator>& draws) {
    if (!(share >= 0.0 && share < 1.0))
      throw ValueError(fmt::format("[{}] dropout outside [0, 1): {}", kAttention, share));
    if (share == 0.0) return;
    if (!draws) throw ValueError(fmt::format("[{}] dropout draws, and there is no generator", kAttention));
    // Selects the same weights as dropout_mask.
    how_.dropout = {*draws, static_cast<std::uint64_t>(std::llround(std::ldexp(share, 32))), 1.0 / (1.0 - share)};
  }
  [[nodiscard]] std::uint64_t blocks_drawn() const { return static_cast<std::uint64_t>(scores_.numel() + 3) / 4; }

  [[nodiscard]] ScaledDotProductResult forward() const {
    Shape lines = output_;
    lines[lines.size() - 1] = 2;
    Tensor sums = Tensor::empty(lines, computed(), query_.device());
    if (is_trivial()) return {zeros(output_, dtype_, query_.device()), sums};
    Tensor out = Tensor::empty(output_, computed(), query_.device());
    const auto attention = kernels::on_gpu(out) ? detail::attention_of_products : cpu::attention_kernels.attention;
    {
      const std::array<const Tensor*, 3> inputs{&query_, &key_, &value_};
      const WatchedKernel watched("attention", inputs);
      attention(out, sums, operand(query_), operand(key_), operand(value_), how_);
    }
    return {out.to(dtype_), sums};
  }

  /// `mask`: the caller's mask; undefined if its gradient is not wanted.
  [[nodiscard]] ScaledDotProductGradients backward(const Tensor& grad, const ScaledDotProductResult& forward,
                                                   const ScaledDotProductWanted& wanted, const Tensor& mask) const {
    const auto expanded = [&](bool asked, const Tensor& x) {
      return asked ? zeros(batched(x), computed(), x.device()) : Tensor();
    };
    kernels::AttentionGradients to{
        expanded(wanted.query, query_), expanded(wanted.key, key_), expanded(wanted.value, value_), {}};
    if (mask.defined()) to.mask = zeros(mask.shape(), computed(), mask.device());
    if (!is_trivial()) {
      const kernels::AttentionForward saved{operand(query_), operand(key_), operand(value_),
                                            forward.output.to(computed()).contiguous(), forward.sums};
      const auto attention =
          kernels::on_gpu(grad) ? detail::attention_of_products_backward : cpu::attention_kernels.attention_backward;
      const std::array<const Tensor*, 4> inputs{&grad, &query_, &key_, &value_};
      const WatchedKernel watched("attention_backward", inputs);
      attention(to, operand(grad), saved, how_);
    }
    const auto of = [](const Tensor& x, const Tensor& gradient) {
      return gradient.defined() ? sum_to(gradient, x.shape()).to(x.dtype()) : Tensor();
    };
    return {of(query_, to.query), of(key_, to.key), of(value_, to.value), of(mask, to.mask)};
  }

 private:
  static Shape joined(Shape batch, std::initializer_list<std::int64_t> matrix) {
    for (const std::int64_t size : matrix) batch.push_back(size);
    return batch;
  }

  [[nodiscard]] std::string sizes() const {
    return fmt::format("query {}, key {}, value {}", to_string(query_.shape()), to_string(key_.shape()),
                       to_string(value_.shape()));
  }

  void check_sizes() const {
    detail::require_together(kAttention, query_, key_);
    detail::require_together(kAttention, query_, value_);
    if (query_.dim() < 2 || key_.dim() < 2 || value_.dim() < 2) {
      throw ShapeError(fmt::format("[{}] fewer than 2 dimensions: {}", kAttention, sizes()));
    }
    if (query_.size(-1) != key_.size(-1) || key_.size(-2) != value_.size(-2)) {
      throw ShapeError(fmt::format("[{}] sizes differ: {}", kAttention, sizes()));
    }
    if (query_.size(-1) == 0) throw ShapeError(fmt::format("[{}] nothing to compare: {}", kAttention, sizes()));
  }

  /// Returns `mask` expanded to all scores, with stride 1 along the rows.
  [[nodiscard]] Tensor mask_rows(const Tensor& mask) const {
    detail::require_together(kAttention, query_, mask);
    if (!broadcasts_to(mask.shape(), scores_)) {
      throw ShapeError(fmt::format("[{}] mask is {}, nothing that broadcasts to {}", kAttention,
                                   to_string(mask.shape()), to_string(scores_)));
    }
    const bool boolean = mask.dtype() == DType::boolean;
    if (!boolean && !is_floating(mask.dtype())) {
      throw DTypeError(fmt::format("[{}] mask is {}, not boolean or floating", kAttention, name_of(mask.dtype())));
    }
    Tensor rows = boolean ? mask : mask.to(computed());
    Shape wide = rows.dim() == 0 ? Shape{1} : rows.shape();
    wide[wide.size() - 1] = scores_.back();
    rows = rows.expand(wide);
    return (rows.strides().back() == 1 ? rows : rows.clone()).expand(scores_);
  }

  /// Returns the shape of `x` with the leading dimensions of the result.
  [[nodiscard]] Shape batched(const Tensor& x) const {
    Shape shape = output_;
    shape[shape.size() - 2] = x.size(-2);
    shape[shape.size() - 1] = x.size(-1);
    return shape;
  }

  /// Returns `x` for the kernels: in the compute dtype, in a gemm layout, expanded to the batch.
  [[nodiscard]] Tensor operand(const Tensor& x) const {
    const Tensor converted = x.to(computed());
    const int r = x.dim() - 2;
    const bool fits =
        kernels::is_gemm_layout(x.shape()[r], x.shape()[r + 1], converted.strides()[r], converted.strides()[r + 1]);
    return (fits ? converted : converted.clone()).expand(batched(x));
  }

  [[nodiscard]] DType computed() const { return compute_dtype(dtype_); }
  [[nodiscard]] bool is_trivial() const { return output_.numel() == 0 || scores_.back() == 0; }

  const Tensor& query_;
  const Tensor& key_;
  const Tensor& value_;
  Shape scores_;  ///< (..., l, s)
  Shape output_;  ///< (..., l, v)
  DType dtype_;
  kernels::AttentionScores how_;
};

}  // namespace

ScaledDotProductResult scaled_dot_product_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                                            const ScaledDotProductOptions& options,
                                                            Generator* generator) {
  Attention attention(query, key, value, options);
  std::optional<Generator> draws;
  if (generator != nullptr) draws = *generator;
  attention.drop(options.dropout, draws);
  ScaledDotProductResult result = attention.forward();
  if (options.dropout == 0.0) return result;
  generator->skip(attention.blocks_drawn());
  result.draws = draws;
  return result;
}

ScaledDotProductGradients scaled_dot_product_attention_backward(const Tensor& grad, const Tensor& query,
                                                                const Tensor& key, const Tensor& value,
                                                                const ScaledDotProductResult& forward,
                                                                const ScaledDotProductOptions& options,
                                                                const ScaledDotProductWanted& wanted) {
  constexpr std::string_view kBackward = "scaled_dot_product_attention_backward";
  detail::require_same_shape(kBackward, grad, forward.output);
  const Tensor mask = wanted.mask ? options.mask : Tensor();
  if (wanted.mask) mask.require_defined(kBackward);
  if (wanted.mask && !is_floating(mask.dtype())) {
    throw DTypeError(fmt::format("[{}] no gradient of a mask that is {}", kBackward, name_of(mask.dtype())));
  }
  Attention attention(query, key, value, options);
  attention.drop(options.dropout, forward.draws);
  return attention.backward(grad, forward, wanted, mask);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const ScaledDotProductOptions& options) {
  return scaled_dot_product_attention_forward(query, key, value, options, nullptr).output;
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const ScaledDotProductOptions& options, Generator& generator) {
  return scaled_dot_product_attention_forward(query, key, value, options, &generator).output;
}

}  // namespace troupe
