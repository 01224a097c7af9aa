#include "tensor/ops/embedding.h"

#include <fmt/format.h>

#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/embedding_bag.h"
#include "tensor/ops/index.h"

namespace troupe {

Tensor embedding(const Tensor& weight, const Tensor& index) {
  detail::require_together("embedding", weight, index);
  detail::require_rank("embedding", weight.shape(), 2);
  const Tensor places = detail::checked_index("embedding", index, weight.size(0));
  Tensor out = Tensor::empty(with_last(index.shape(), weight.size(1)), weight.dtype(), weight.device());
  Tensor target = out.view({1, index.numel(), weight.size(1)});
  kernels_of(target).take(target, weight.contiguous().unsqueeze(0), places);
  return out;
}

Tensor embedding_backward(const Tensor& grad, const Tensor& index, std::int64_t rows) {
  constexpr std::string_view kName = "embedding_backward";
  detail::require_together(kName, grad, index);
  if (grad.dim() == 0 || grad.shape() != with_last(index.shape(), grad.size(-1))) {
    throw ShapeError(fmt::format("[{}] gradient does not fit: {} for index {}", kName, to_string(grad.shape()),
                                 to_string(index.shape())));
  }
  const std::int64_t width = grad.size(-1);
  return index_select_backward(grad.reshape({index.numel(), width}), 0, index.reshape({index.numel()}), {rows, width});
}

Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets,
                     const EmbeddingBagOptions& options, const Tensor& per_sample_weights) {
  return detail::EmbeddingBag(weight, index, offsets, options, per_sample_weights).forward(weight).output;
}

}  // namespace troupe
