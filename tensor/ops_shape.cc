#include <fmt/format.h>

#include "tensor/checks.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

void require_any(std::string_view op, const std::vector<Tensor>& tensors) {
  if (tensors.empty()) throw ShapeError(fmt::format("[{}] no tensors", op));
  for (const Tensor& x : tensors) detail::require_together(op, tensors.front(), x);
}

bool differ_beside(int dim, const Shape& a, const Shape& b) {
  Shape x = a;
  Shape y = b;
  if (x.size() == y.size()) x[dim] = y[dim] = 0;
  return x != y;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) { return x.reshape(shape); }
Tensor transpose(const Tensor& x, int dim0, int dim1) { return x.transpose(dim0, dim1); }
Tensor permute(const Tensor& x, std::span<const int> dims) { return x.permute(dims); }
Tensor squeeze(const Tensor& x, int dim) { return x.squeeze(dim); }
Tensor unsqueeze(const Tensor& x, int dim) { return x.unsqueeze(dim); }
Tensor expand(const Tensor& x, const Shape& shape) { return x.expand(shape); }

Tensor flatten(const Tensor& x, int first_dim, int last_dim) {
  x.require_defined("flatten");
  if (x.dim() == 0) return x.reshape({1});
  const int first = normalize_dim("flatten", first_dim, x.shape());
  const int last = normalize_dim("flatten", last_dim, x.shape());
  if (first > last) throw ShapeError(fmt::format("[flatten] first dimension after the last: {} > {}", first, last));
  Shape shape = x.shape();
  for (int i = last; i > first; --i) {
    shape[i - 1] *= shape[i];
    shape.erase(i);
  }
  return x.reshape(shape);
}

Tensor concat(const std::vector<Tensor>& tensors, int dim) {
  require_any("concat", tensors);
  const Tensor& first = tensors.front();
  const int at = normalize_dim("concat", dim, first.shape());
  Shape shape = first.shape();
  shape[at] = 0;
  DType dtype = first.dtype();
  for (const Tensor& x : tensors) {
    if (differ_beside(at, first.shape(), x.shape())) {
      throw ShapeError(fmt::format("[concat] shapes differ beside dimension {}: {} and {}", at,
                                   to_string(first.shape()), to_string(x.shape())));
    }
    shape[at] += x.shape()[at];
    dtype = promote(dtype, x.dtype());
  }
  const Tensor out = Tensor::empty(shape, dtype, first.device());
  std::int64_t begin = 0;
  for (const Tensor& x : tensors) {
    const std::int64_t end = begin + x.shape()[at];
    out.slice(at, begin, end).copy_from(x);
    begin = end;
  }
  return out;
}

Tensor stack(const std::vector<Tensor>& tensors, int dim) {
  require_any("stack", tensors);
  std::vector<Tensor> parts;
  parts.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    detail::require_same_shape("stack", tensors.front(), x);
    parts.push_back(x.unsqueeze(dim));
  }
  return concat(parts, dim);
}

}  // namespace troupe
