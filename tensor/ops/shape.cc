#include "tensor/ops/shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>

#include "tensor/checked_size.h"
#include "tensor/create.h"
#include "tensor/decompositions/pad_amounts.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/pad.h"
#include "tensor/ops/rvalue.h"

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

/// Throws ShapeError `[tril] not a matrix: (3)`, ValueError
/// `[tril] diagonal outside of 64 bits: 9223372036854775807 of (2, 2)`.
void require_diagonal(std::string_view op, const Tensor& x, std::int64_t diagonal) {
  x.require_defined(op);
  if (x.dim() < 2) throw ShapeError(fmt::format("[{}] not a matrix: {}", op, to_string(x.shape())));
  if ((detail::CheckedSize(x.size(-2)) + diagonal).fits()) return;
  throw ValueError(fmt::format("[{}] diagonal outside of 64 bits: {} of {}", op, diagonal, to_string(x.shape())));
}

/// Returns a mask (rows, columns), true at the columns [begin(row), end(row)) of each row, on the device of `x`.
template <class Bound>
Tensor columns_between(const Tensor& x, const Bound& bounds_of) {
  Tensor begins = Tensor::empty({x.size(-2), 1}, DType::i64);
  Tensor ends = Tensor::empty({x.size(-2), 1}, DType::i64);
  const auto first = begins.mutable_data<std::int64_t>();
  const auto last = ends.mutable_data<std::int64_t>();
  for (std::int64_t row = 0; row < x.size(-2); ++row)
    std::tie(first[static_cast<std::size_t>(row)], last[static_cast<std::size_t>(row)]) = bounds_of(row);
  const Tensor columns = arange(x.size(-1)).to(x.device());
  return logical_and(ge(columns, begins.to(x.device())), lt(columns, ends.to(x.device())));
}

/// Returns a copy of `x` with 0 in the columns [begin(row), end(row)) of each row. In every dtype 0 is bytes of 0.
template <class Bound>
Tensor with_zeros(const Tensor& x, const Bound& bounds_of) {
  if (kernels::on_gpu(x)) return masked_fill(x, columns_between(x, bounds_of), 0.0);
  Tensor out = x.clone();
  const std::int64_t rows = x.size(-2);
  const std::int64_t columns = x.size(-1);
  const std::size_t size = size_of(x.dtype());
  std::byte* const bytes = out.mutable_bytes();
  for (std::int64_t i = 0; columns > 0 && i < x.numel() / columns; ++i) {
    auto [begin, end] = bounds_of(i % rows);
    begin = std::clamp(begin, std::int64_t{0}, columns);
    end = std::clamp(end, begin, columns);
    std::memset(bytes + static_cast<std::size_t>(i * columns + begin) * size, 0,
                static_cast<std::size_t>(end - begin) * size);
  }
  return out;
}

/// Reverses the elements along `dim`, at most kTogether of them at a time: an index of all would take 8 bytes for each.
Tensor flipped(const Tensor& x, int dim) {
  constexpr std::int64_t kTogether = 1 << 16;
  const std::int64_t size = x.size(dim), most = std::min(size, kTogether);
  const Tensor backwards = arange(static_cast<double>(most - 1), -1.0, -1.0, DType::i64).to(x.device());
  if (size <= kTogether) return index_select(x, dim, backwards);
  const Tensor out = Tensor::empty(x.shape(), x.dtype(), x.device());
  for (std::int64_t begin = 0; begin < size; begin += kTogether) {
    const std::int64_t end = std::min(begin + kTogether, size);
    const Tensor part = index_select(x.slice(dim, begin, end), dim, backwards.slice(0, kTogether - (end - begin)));
    out.slice(dim, size - end, size - begin).copy_from(part);
  }
  return out;
}

/// repeat() of an `x` with as many dimensions as counts, one dimension after the other.
Tensor repeated_one_by_one(const Tensor& x, const std::vector<std::int64_t>& counts) {
  Tensor result = x.clone();
  for (int i = 0; i < x.dim(); ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    if (count == 1) continue;
    const Shape around = joined_around(result.shape(), i);
    Shape shape = result.shape();
    shape[i] *= count;
    const Tensor one = result.reshape({around[0], 1, around[1], around[2]});
    result = one.expand({around[0], count, around[1], around[2]}).reshape(shape);
  }
  return result;
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) { return x.reshape(shape); }
Tensor transpose(const Tensor& x, int dim0, int dim1) { return x.transpose(dim0, dim1); }
Tensor permute(const Tensor& x, std::span<const int> dims) { return x.permute(dims); }
Tensor squeeze(const Tensor& x, int dim) { return x.squeeze(dim); }
Tensor squeeze(const Tensor& x) { return x.squeeze(); }
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
    const detail::CheckedSize joined = detail::CheckedSize(shape[i - 1]) * shape[i];
    if (!joined.fits()) throw ShapeError(fmt::format("[flatten] too many elements: {}", to_string(x.shape())));
    shape[i - 1] = joined.value();
    shape.erase(i);
  }
  return x.reshape(shape);
}

Tensor concat(const std::vector<Tensor>& tensors, int dim) {
  require_any("concat", tensors);
  const Tensor& first = tensors.front();
  const int at = normalize_dim("concat", dim, first.shape());
  Shape shape = first.shape();
  detail::CheckedSize size = 0;
  DType dtype = first.dtype();
  for (const Tensor& x : tensors) {
    if (differ_beside(at, first.shape(), x.shape())) {
      throw ShapeError(fmt::format("[concat] shapes differ beside dimension {}: {} and {}", at,
                                   to_string(first.shape()), to_string(x.shape())));
    }
    size = size + x.shape()[at];
    dtype = promote(dtype, x.dtype());
    if (size.fits()) continue;
    throw ShapeError(fmt::format("[concat] too many parts along dimension {}: {} tensors, {} and others", at,
                                 tensors.size(), to_string(x.shape())));
  }
  shape[at] = size.value();
  const Tensor out = Tensor::empty(shape, dtype, first.device());
  std::int64_t begin = 0;
  for (const Tensor& x : tensors) {
    const std::int64_t end = begin + x.shape()[at];
    out.slice(at, begin, end).copy_from(x);
    begin = end;
  }
  return out;
}

Tensor concat(std::initializer_list<Tensor> tensors, int dim) { return concat(std::vector<Tensor>(tensors), dim); }

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

Tensor stack(std::initializer_list<Tensor> tensors, int dim) { return stack(std::vector<Tensor>(tensors), dim); }

Tensor narrow(const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
  x.require_defined("narrow");
  const std::int64_t size = x.shape()[normalize_dim("narrow", dim, x.shape())];
  const std::int64_t first = start < 0 ? start + size : start;
  if (first < 0 || first > size || length < 0 || length > size - first) {
    throw IndexError(fmt::format("[narrow] length {} from start {} on, dimension {} has {}", length, start, dim, size));
  }
  return x.slice(dim, first, first + length);
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int dim) {
  x.require_defined("split");
  const std::int64_t parts = x.shape()[normalize_dim("split", dim, x.shape())];
  if (size < 1) throw ValueError(fmt::format("[split] size below 1: {}", size));
  std::vector<Tensor> result;
  for (std::int64_t begin = 0; begin < parts || result.empty(); begin += size) {
    result.push_back(x.slice(dim, begin, std::min(begin + size, parts)));
  }
  return result;
}

std::vector<Tensor> split_with_sizes(const Tensor& x, const std::vector<std::int64_t>& sizes, int dim) {
  constexpr std::string_view kName = "split_with_sizes";
  x.require_defined(kName);
  const std::int64_t parts = x.shape()[normalize_dim(kName, dim, x.shape())];
  std::int64_t left = parts;
  for (const std::int64_t size : sizes) left = size < 0 || size > left ? -1 : left - size;
  if (left != 0) throw ShapeError(fmt::format("[{}] sizes ({}) for {} parts", kName, fmt::join(sizes, ", "), parts));
  std::vector<Tensor> result;
  result.reserve(sizes.size());
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    result.push_back(x.slice(dim, begin, begin + size));
    begin += size;
  }
  return result;
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t count, int dim) {
  x.require_defined("chunk");
  const std::int64_t parts = x.shape()[normalize_dim("chunk", dim, x.shape())];
  if (count < 1) throw ValueError(fmt::format("[chunk] count below 1: {}", count));
  return split(x, std::max((parts + count - 1) / count, std::int64_t{1}), dim);
}

Tensor flip(const Tensor& x, const Axes& axes) {
  x.require_defined("flip");
  Tensor result = axes.values().empty() ? x.clone() : x;
  for (const int axis : axes.values()) result = flipped(result, normalize_dim("flip", axis, x.shape()));
  return result;
}

Tensor roll(const Tensor& x, std::int64_t shift, int dim) {
  x.require_defined("roll");
  const std::int64_t size = x.shape()[normalize_dim("roll", dim, x.shape())];
  const std::int64_t begin = size == 0 ? 0 : (size - shift % size) % size;  // becomes the first element
  return concat({x.slice(dim, begin), x.slice(dim, 0, begin)}, dim);
}

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const Axes& dims) {
  x.require_defined("roll");
  if (shifts.size() != dims.values().size()) {
    throw ShapeError(fmt::format("[roll] {} shifts for {} dimensions", shifts.size(), dims.values().size()));
  }
  Tensor result = shifts.empty() ? x.clone() : x;
  for (std::size_t i = 0; i < shifts.size(); ++i) result = roll(result, shifts[i], dims.values()[i]);
  return result;
}

Tensor roll(const Tensor& x, std::int64_t shift) {
  x.require_defined("roll");
  return roll(x.reshape({x.numel()}), shift, 0).reshape(x.shape());
}

Tensor repeat(const Tensor& x, const std::vector<std::int64_t>& counts) {
  x.require_defined("repeat");
  const int added = static_cast<int>(counts.size()) - x.dim();
  if (added < 0) throw ShapeError(fmt::format("[repeat] {} counts for {}", counts.size(), to_string(x.shape())));
  Shape sizes;
  Shape joined;
  for (int i = 0; i < added + x.dim(); ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    if (count < 0) throw ValueError(fmt::format("[repeat] count below 0: {}", count));
    sizes.push_back(i < added ? 1 : x.shape()[i - added]);
    const detail::CheckedSize repeated = detail::CheckedSize(count) * sizes.back();
    if (!repeated.fits())
      throw ShapeError(fmt::format("[repeat] too many elements: {} times {}", count, to_string(x.shape())));
    joined.push_back(repeated.value());
  }
  if (2 * sizes.size() > kDimsMax) return repeated_one_by_one(x.reshape(sizes), counts);
  Shape apart;   // a dimension of size 1 before each dimension
  Shape spread;  // the same with the count in place of the 1
  for (int i = 0; i < sizes.size(); ++i) {
    apart.push_back(1);
    apart.push_back(sizes[i]);
    spread.push_back(counts[static_cast<std::size_t>(i)]);
    spread.push_back(sizes[i]);
  }
  const Tensor out = Tensor::empty(joined, x.dtype(), x.device());
  out.view(spread).copy_from(x.reshape(apart).expand(spread));
  return out;
}

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& amounts, double value) {
  Tensor part = x;  // the part of `x` that negative amounts leave
  Shape shape = x.shape();
  const std::vector<detail::PadAmounts> all = detail::pad_amounts(x, amounts);
  for (const auto& [dim, before, after] : all) {
    const std::int64_t end = shape[dim] + std::min(after, std::int64_t{0});  // below 0 if more is removed than there is
    part = part.slice(dim, std::max(-before, std::int64_t{0}), std::max(end, std::int64_t{0}));
    shape[dim] += before + after;
  }
  const Tensor out = full(shape, value, x.dtype(), x.device());
  Tensor middle = out;
  for (const auto& [dim, before, after] : all) {
    const std::int64_t start = std::clamp(before, std::int64_t{0}, middle.size(dim));
    middle = narrow(middle, dim, start, part.size(dim));
  }
  middle.copy_from(part);
  return out;
}

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  require_diagonal("tril", x, diagonal);
  return with_zeros(
      x, [&](std::int64_t row) { return std::pair(row + diagonal + 1, std::numeric_limits<std::int64_t>::max()); });
}

Tensor triu(const Tensor& x, std::int64_t diagonal) {
  require_diagonal("triu", x, diagonal);
  return with_zeros(x, [&](std::int64_t row) { return std::pair(std::int64_t{0}, row + diagonal); });
}

}  // namespace troupe
