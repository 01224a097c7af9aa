#include "tensor/ops/embedding_bag.h"

#include <fmt/format.h>

#include <vector>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/embedding.h"
#include "tensor/ops/index.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kEmbeddingBag = "embedding_bag";

/// Returns the start of each bag within `entries` entries and the end of the last: 1-D i64, on the device of `offsets`.
Tensor checked_offsets(const Tensor& offsets, std::int64_t entries, bool with_last) {
  require_rank(kEmbeddingBag, offsets.shape(), 1);
  if (offsets.dtype() != DType::i64 && offsets.dtype() != DType::i32) {
    throw DTypeError(fmt::format("[{}] offsets are {}, not i64 or i32", kEmbeddingBag, name_of(offsets.dtype())));
  }
  const Tensor given = offsets.to(Device::cpu()).to(DType::i64).contiguous();
  const auto numbers = given.data<std::int64_t>();
  std::vector<std::int64_t> all(numbers.begin(), numbers.end());
  if (!with_last) all.push_back(entries);
  const std::int64_t first = all.empty() ? -1 : all.front();
  if (numbers.empty() && !with_last && entries == 0) {
    all = {0};  // no bags and no entries
  } else if (first != 0) {
    throw ValueError(fmt::format("[{}] offsets begin with {}, not 0", kEmbeddingBag,
                                 all.empty() ? "nothing" : fmt::to_string(first)));
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i] > entries) throw ValueError(fmt::format("[{}] offset {} of {}", kEmbeddingBag, all[i], entries));
    if (all[i] < all[i - 1])
      throw ValueError(fmt::format("[{}] offset {} after {}", kEmbeddingBag, all[i], all[i - 1]));
  }
  if (all.back() != entries)
    throw ValueError(fmt::format("[{}] offsets end with {}, not {}", kEmbeddingBag, all.back(), entries));
  const Tensor checked =
      from_values<std::int64_t>(std::span<const std::int64_t>(all), {static_cast<std::int64_t>(all.size())});
  return checked.to(offsets.device());
}

/// Returns the offsets of bags with `size` entries each.
Tensor even_offsets(std::int64_t bags, std::int64_t size) { return mul(arange(bags + 1), static_cast<double>(size)); }

/// Returns the positions of the entries other than `padding`.
Tensor kept_entries(const Tensor& index, std::int64_t padding) {
  std::vector<std::int64_t> kept;
  const Tensor here = index.to(Device::cpu());
  const auto numbers = here.data<std::int64_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != padding) kept.push_back(static_cast<std::int64_t>(i));
  }
  const Tensor places =
      from_values<std::int64_t>(std::span<const std::int64_t>(kept), {static_cast<std::int64_t>(kept.size())});
  return places.to(index.device());
}

/// Returns a sparse (rows, width) with one row of `values` per entry, not coalesced: the reader coalesces if needed.
/// REQUIRES: `index` is 1-D i64.
SparseTensor rows_of(const Tensor& index, const Tensor& values, std::int64_t rows, std::int64_t padding) {
  const Shape shape{rows, values.size(1)};
  if (padding < 0) return SparseTensor(index.unsqueeze(0), values, shape);
  const Tensor kept = kept_entries(index, padding);
  return SparseTensor(index_select(index, 0, kept).unsqueeze(0), index_select(values, 0, kept), shape);
}

}  // namespace

EmbeddingBag::EmbeddingBag(const Tensor& weight, const Tensor& index, const Tensor& offsets,
                           const EmbeddingBagOptions& options, const Tensor& per_sample_weights)
    : dtype_(weight.dtype()), mode_(options.mode) {
  require_together(kEmbeddingBag, weight, index);
  require_rank(kEmbeddingBag, weight.shape(), 2);
  if (!is_floating(dtype_)) throw_not_floating(kEmbeddingBag, dtype_);
  weight_shape_ = weight.shape();
  index_shape_ = index.shape();
  bags_.index = checked_index(kEmbeddingBag, index.reshape({index.numel()}), weight.size(0));
  bags_.padding = padding_row(kEmbeddingBag, options.padding_idx, weight.size(0));
  if (index.dim() == 2) {
    if (offsets.defined()) throw ShapeError(fmt::format("[{}] offsets for an index of 2 dimensions", kEmbeddingBag));
    bags_.offsets = even_offsets(index.size(0), index.size(1)).to(index.device());
  } else if (index.dim() != 1) {
    throw ShapeError(fmt::format("[{}] index of {} dimensions", kEmbeddingBag, index.dim()));
  } else if (!offsets.defined()) {
    throw ShapeError(fmt::format("[{}] an index of 1 dimensions needs offsets", kEmbeddingBag));
  } else {
    require_together(kEmbeddingBag, index, offsets);
    bags_.offsets = checked_offsets(offsets, index.numel(), options.include_last_offset);
  }
  set_scales(per_sample_weights);
}

/// Sets the factor of each row: its per-sample weight, or for a mean 1 over the number of rows in the bag.
void EmbeddingBag::set_scales(const Tensor& per_sample_weights) {
  const DType wide = compute_dtype(dtype_);
  if (per_sample_weights.defined()) {
    if (mode_ != BagMode::sum) throw ValueError(fmt::format("[{}] weights of samples need mode sum", kEmbeddingBag));
    require_together(kEmbeddingBag, bags_.index, per_sample_weights);
    if (!is_floating(per_sample_weights.dtype())) throw_not_floating(kEmbeddingBag, per_sample_weights.dtype());
    if (per_sample_weights.shape() != index_shape_) {
      throw ShapeError(fmt::format("[{}] weights of samples do not fit: {} for {}", kEmbeddingBag,
                                   to_string(per_sample_weights.shape()), to_string(index_shape_)));
    }
    samples_dtype_ = per_sample_weights.dtype();
    bags_.scales = per_sample_weights.to(wide).reshape({bags_.index.numel()}).contiguous();
    return;
  }
  if (mode_ != BagMode::mean) return;
  bags_.scales = zeros({bags_.index.numel()}, wide, bags_.index.device());
  kernels_of(bags_.scales).bag_mean_scales(bags_.scales, bags_);
}

EmbeddingBag::Result EmbeddingBag::forward(const Tensor& weight) const {
  Result result;
  result.output = Tensor::empty({bags_.count(), weight_shape_[1]}, dtype_, weight.device());
  if (mode_ == BagMode::max) {
    result.where_max = full(result.output.shape(), -1.0, DType::i64, weight.device());
    if (result.output.numel() > 0)
      kernels_of(result.output).bag_max(result.output, result.where_max, weight.contiguous(), bags_);
  } else if (result.output.numel() > 0) {
    kernels_of(result.output).bag_sum(result.output, weight.contiguous(), bags_);
  }
  return result;
}

Tensor EmbeddingBag::backward(const Tensor& grad, const Tensor& where_max) const {
  Tensor out = zeros(weight_shape_, compute_dtype(dtype_), grad.device());
  if (grad.numel() == 0 || out.numel() == 0) return out.to(dtype_);
  const Tensor wide = grad.to(out.dtype()).contiguous();
  if (mode_ == BagMode::max) {
    kernels_of(out).bag_max_add(out, wide, where_max, bags_);
  } else {
    kernels_of(out).bag_add(out, wide, bags_);
  }
  return out.to(dtype_);
}

SparseTensor EmbeddingBag::backward_rows(const Tensor& grad, const Tensor& where_max) const {
  Tensor values = Tensor::empty({bags_.index.numel(), weight_shape_[1]}, compute_dtype(dtype_), grad.device());
  const Tensor wide = grad.to(values.dtype()).contiguous();
  if (values.numel() > 0) {
    if (mode_ == BagMode::max) {
      kernels_of(values).bag_max_values(values, wide, where_max);
    } else {
      kernels_of(values).bag_values(values, wide, bags_);
    }
  }
  const SparseTensor rows = rows_of(bags_.index, values, weight_shape_[0], bags_.padding);
  if (dtype_ == rows.dtype()) return rows;
  const SparseTensor sums = rows.coalesce();  // sums before rounding, as the dense gradient does
  return SparseTensor(sums.indices(), sums.values().to(dtype_), sums.shape()).as_coalesced();
}

Tensor EmbeddingBag::backward_samples(const Tensor& grad, const Tensor& weight) const {
  const DType wide = compute_dtype(dtype_);
  Tensor out = zeros({bags_.index.numel()}, wide, grad.device());
  if (out.numel() > 0)
    kernels_of(out).bag_scales_backward(out, grad.to(wide).contiguous(), weight.to(wide).contiguous(), bags_);
  return out.view(index_shape_).to(samples_dtype_);
}

std::int64_t padding_row(std::string_view op, std::optional<std::int64_t> padding, std::int64_t rows) {
  if (!padding) return -1;
  const std::int64_t row = *padding < 0 ? *padding + rows : *padding;
  if (row < 0 || row >= rows)
    throw IndexError(fmt::format("[{}] padding index out of range: {} of {}", op, *padding, rows));
  return row;
}

SparseTensor embedding_backward_rows(const Tensor& grad, const Tensor& index, std::int64_t rows, std::int64_t padding) {
  const Tensor values = grad.reshape({index.numel(), grad.size(-1)});
  return rows_of(checked_index("embedding_backward", index.reshape({index.numel()}), rows), values, rows, padding);
}

}  // namespace troupe::detail
