#include "tensor/ops/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tensor/checked_size.h"
#include "tensor/create.h"
#include "tensor/decompositions/arrange_plan.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {
namespace {

std::vector<Tensor> with_rank(const std::vector<Tensor>& tensors, int rank, std::string_view op) {
  std::vector<Tensor> result;
  result.reserve(tensors.size());
  for (const Tensor& x : tensors) {
    x.require_defined(op);
    Tensor raised = x;
    while (raised.dim() < rank) raised = raised.unsqueeze(0);
    result.push_back(std::move(raised));
  }
  return result;
}

}  // namespace

Tensor diagonal(const Tensor& x, std::int64_t offset, int dim0, int dim1) {
  x.require_defined("diagonal");
  const int first = normalize_dim("diagonal", dim0, x.shape());
  const int second = normalize_dim("diagonal", dim1, x.shape());
  if (first == second) throw ShapeError(fmt::format("[diagonal] the dimensions are one: {} and {}", dim0, dim1));
  const std::int64_t inside = std::clamp(offset, -x.shape()[first], x.shape()[second]);  // beyond, all are empty
  const std::int64_t down = std::max<std::int64_t>(-inside, 0);
  const std::int64_t right = std::max<std::int64_t>(inside, 0);
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (const int dim : {std::max(first, second), std::min(first, second)}) {
    shape.erase(dim);
    strides.erase(dim);
  }
  shape.push_back(std::max<std::int64_t>(std::min(x.shape()[first] - down, x.shape()[second] - right), 0));
  strides.push_back(x.strides()[first] + x.strides()[second]);
  const std::int64_t begin = shape.numel() == 0 ? 0 : down * x.strides()[first] + right * x.strides()[second];
  return Tensor::from_storage(x.storage(), shape, strides, x.offset() + begin, x.dtype());
}

Tensor diag_embed(const Tensor& x, std::int64_t offset, int dim0, int dim1) {
  constexpr std::string_view kName = "diag_embed";
  x.require_defined(kName);
  if (x.dim() == 0) throw ShapeError(fmt::format("[{}] a scalar has no diagonal", kName));
  Shape wider = x.shape();
  wider.push_back(1);  // has as many dimensions as the result
  const int first = normalize_dim(kName, dim0, wider);
  const int second = normalize_dim(kName, dim1, wider);
  if (first == second) throw ShapeError(fmt::format("[{}] the dimensions are one: {} and {}", kName, dim0, dim1));
  Shape shape = x.shape();
  shape.erase(x.dim() - 1);
  const detail::CheckedSize away = offset < 0 ? detail::CheckedSize(0) - offset : detail::CheckedSize(offset);
  const detail::CheckedSize size = away + x.size(-1);
  if (!size.fits())
    throw ValueError(fmt::format("[{}] diagonal outside of 64 bits: {} of {}", kName, offset, to_string(x.shape())));
  shape.insert(std::min(first, second), size.value());
  shape.insert(std::max(first, second), size.value());
  const Tensor out = zeros(shape, x.dtype(), x.device());
  diagonal(out, offset, first, second).copy_from(x);
  return out;
}

Tensor diag(const Tensor& x, std::int64_t offset) {
  x.require_defined("diag");
  if (x.dim() == 1) return diag_embed(x, offset);
  if (x.dim() == 2) return diagonal(x, offset).clone();
  throw ShapeError(fmt::format("[diag] neither a vector nor a matrix: {}", to_string(x.shape())));
}

Tensor trace(const Tensor& x) {
  x.require_defined("trace");
  detail::require_rank("trace", x.shape(), 2);
  return sum(diagonal(x));
}

std::vector<Tensor> unbind(const Tensor& x, int dim) {
  x.require_defined("unbind");
  const int at = normalize_dim("unbind", dim, x.shape());
  std::vector<Tensor> parts;
  parts.reserve(static_cast<std::size_t>(x.shape()[at]));
  for (std::int64_t i = 0; i < x.shape()[at]; ++i) parts.push_back(x.select(at, i));
  return parts;
}

Tensor movedim(const Tensor& x, const Axes& from, const Axes& to) {
  x.require_defined("movedim");
  return x.permute(detail::moved_dims(x.shape(), from, to));
}

Tensor unflatten(const Tensor& x, int dim, const Shape& sizes) {
  x.require_defined("unflatten");
  return x.view(detail::unflattened(x.shape(), dim, sizes));
}

Tensor expand_as(const Tensor& x, const Tensor& other) {
  other.require_defined("expand_as");
  return x.expand(other.shape());
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) { return x.expand(shape); }

Tensor tile(const Tensor& x, const std::vector<std::int64_t>& counts) {
  x.require_defined("tile");
  return repeat(x, detail::tile_counts(counts, x.dim()));
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, int dim) {
  constexpr std::string_view kName = "repeat_interleave";
  x.require_defined(kName);
  const int at = normalize_dim(kName, dim, x.shape());
  if (count < 0) throw ValueError(fmt::format("[{}] count below 0: {}", kName, count));
  const Tensor apart = x.unsqueeze(at + 1);
  Shape shape = apart.shape();
  shape[at + 1] = count;
  return flatten(apart.expand(shape).clone(), at, at + 1);
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int dim) {
  detail::require_together("repeat_interleave", x, counts);
  const int at = normalize_dim("repeat_interleave", dim, x.shape());
  return index_select(x, at, detail::repeated_places(counts, x.shape()[at]));
}

Tensor vstack(const std::vector<Tensor>& tensors) { return concat(with_rank(tensors, 2, "vstack"), 0); }

Tensor hstack(const std::vector<Tensor>& tensors) {
  const std::vector<Tensor> raised = with_rank(tensors, 1, "hstack");
  return concat(raised, raised.empty() || raised.front().dim() == 1 ? 0 : 1);
}

std::vector<Tensor> meshgrid(const std::vector<Tensor>& vectors, MeshOrder order) {
  constexpr std::string_view kName = "meshgrid";
  Shape shape;
  std::vector<Tensor> result;
  for (const Tensor& x : vectors) {
    x.require_defined(kName);
    if (x.dim() > 1)
      throw ShapeError(fmt::format("[{}] neither a vector nor a scalar: {}", kName, to_string(x.shape())));
    shape.push_back(x.numel());
  }
  const int rank = shape.size();
  for (int i = 0; i < rank; ++i) {
    Shape along(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
    along[i] = shape[i];
    const Tensor grid = vectors[static_cast<std::size_t>(i)].view(along).expand(shape);
    result.push_back(order == MeshOrder::xy && rank > 1 ? grid.transpose(0, 1) : grid);
  }
  return result;
}

Tensor diff(const Tensor& x, std::int64_t n, int dim) {
  x.require_defined("diff");
  const int at = normalize_dim("diff", dim, x.shape());
  if (n < 0) throw ValueError(fmt::format("[diff] n below 0: {}", n));
  Tensor result = n == 0 ? x.clone() : x;
  for (; n > 0 && result.shape()[at] > 0; --n) {
    const Tensor after = result.slice(at, 1);
    const Tensor before = result.slice(at, 0, std::max(result.shape()[at] - 1, std::int64_t{0}));
    result = x.dtype() == DType::boolean ? logical_xor(after, before) : sub(after, before);
  }
  return result;
}

}  // namespace troupe
