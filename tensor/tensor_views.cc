// The views of Tensor: other shapes and strides over the same memory.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tensor/tensor.h"

namespace troupe {
namespace {

// Replaces the one -1 in `shape` by the size with which it has `numel` elements.
Shape resolve(std::string_view op, const Shape& shape, std::int64_t numel) {
  Shape result = shape;
  int unknown = -1;
  std::int64_t known = 1;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1 && unknown < 0) {
      unknown = i;
      result[i] = 1;
    }
  }
  known = result.numel();
  if (unknown >= 0 && known > 0 && numel % known == 0) result[unknown] = numel / known;
  if (result.numel() != numel || (unknown >= 0 && known == 0)) {
    throw ShapeError(fmt::format("[{}] {} elements into shape: {}", op, numel, to_string(shape)));
  }
  return result;
}

// Returns the strides of a view of `shape`, if the layout permits one. A run of dimensions without gaps in memory can
// be split in any way; dimensions cannot be joined across a gap.
std::optional<Strides> strides_for(const Tensor& tensor, const Shape& shape) {
  if (tensor.numel() == 0) return contiguous_strides(shape);
  Strides strides(std::span<const std::int64_t>(shape.begin(), shape.end()));
  int to = shape.size() - 1;
  std::int64_t base = 1;     // stride of the run's innermost dimension
  std::int64_t run = 1;      // elements of the run
  std::int64_t covered = 1;  // elements of the run that dimensions of `shape` cover already
  for (int from = tensor.dim() - 1; from >= 0; --from) {
    if (run == 1) base = tensor.strides()[from];
    run *= tensor.shape()[from];
    const bool run_ends =
        from == 0 || (tensor.shape()[from - 1] != 1 && run != 1 && tensor.strides()[from - 1] != run * base);
    if (!run_ends) continue;
    while (to >= 0 && (covered < run || shape[to] == 1)) {
      strides[to] = covered * base;
      covered *= shape[to];
      --to;
    }
    if (covered != run) return std::nullopt;
    run = 1;
    covered = 1;
  }
  for (; to >= 0; --to) strides[to] = 1;
  return strides;
}

std::int64_t clamp_bound(std::int64_t bound, std::int64_t size) {
  if (bound < 0) bound += size;
  return std::clamp<std::int64_t>(bound, 0, size);
}

}  // namespace

Tensor Tensor::alias(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  return {storage_, shape, strides, offset, dtype_};
}

Tensor Tensor::view(const Shape& shape) const {
  require_defined("view");
  const Shape resolved = resolve("view", shape, numel_);
  const std::optional<Strides> strides = strides_for(*this, resolved);
  if (!strides) {
    throw ShapeError(fmt::format("[view] layout needs a copy: {} strides {} to {}", to_string(shape_),
                                 to_string(strides_), to_string(resolved)));
  }
  return alias(resolved, *strides, offset_);
}

Tensor Tensor::reshape(const Shape& shape) const {
  require_defined("reshape");
  const Shape resolved = resolve("reshape", shape, numel_);
  if (const std::optional<Strides> strides = strides_for(*this, resolved)) return alias(resolved, *strides, offset_);
  const Tensor copy = clone();
  return copy.alias(resolved, contiguous_strides(resolved), copy.offset_);
}

Tensor Tensor::transpose(int dim0, int dim1) const {
  require_defined("transpose");
  const int a = normalize_dim("transpose", dim0, shape_);
  const int b = normalize_dim("transpose", dim1, shape_);
  Shape shape = shape_;
  Strides strides = strides_;
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return alias(shape, strides, offset_);
}

Tensor Tensor::permute(std::span<const int> dims) const {
  require_defined("permute");
  std::array<bool, kDimsMax> seen{};
  Shape shape;
  Strides strides;
  bool valid = dims.size() == static_cast<std::size_t>(dim());
  for (std::size_t i = 0; valid && i < dims.size(); ++i) {
    const int from = normalize_dim("permute", dims[i], shape_);
    valid = !std::exchange(seen[static_cast<std::size_t>(from)], true);
    shape.push_back(shape_[from]);
    strides.push_back(strides_[from]);
  }
  if (!valid) {
    throw ShapeError(
        fmt::format("[permute] not an order of the dimensions of {}: ({})", to_string(shape_), fmt::join(dims, ", ")));
  }
  return alias(shape, strides, offset_);
}

Tensor Tensor::permute(std::initializer_list<int> dims) const { return permute(std::span<const int>(dims)); }

Tensor Tensor::squeeze(int dim) const {
  require_defined("squeeze");
  const int at = normalize_dim("squeeze", dim, shape_);
  if (shape_[at] != 1) {
    throw ShapeError(fmt::format("[squeeze] size of dimension {} is not 1: {}", dim, to_string(shape_)));
  }
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(at);
  strides.erase(at);
  return alias(shape, strides, offset_);
}

Tensor Tensor::squeeze() const {
  require_defined("squeeze");
  Shape shape;
  Strides strides;
  for (int i = 0; i < dim(); ++i) {
    if (shape_[i] == 1) continue;
    shape.push_back(shape_[i]);
    strides.push_back(strides_[i]);
  }
  return alias(shape, strides, offset_);
}

Tensor Tensor::unsqueeze(int dim) const {
  require_defined("unsqueeze");
  const int rank = shape_.size();
  if (dim < -rank - 1 || dim > rank) {
    throw ShapeError(fmt::format("[unsqueeze] dimension out of range: {} of {}", dim, to_string(shape_)));
  }
  const int at = dim < 0 ? dim + rank + 1 : dim;
  Shape shape = shape_;
  Strides strides = strides_;
  const std::int64_t stride = at == rank ? 1 : shape_[at] * strides_[at];
  shape.insert(at, 1);
  strides.insert(at, stride);
  return alias(shape, strides, offset_);
}

Tensor Tensor::expand(const Shape& wanted) const {
  require_defined("expand");
  const int lead = wanted.size() - shape_.size();
  Shape shape = wanted;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] != -1) continue;
    if (i < lead || lead < 0)
      throw ShapeError(fmt::format("[expand] no size to keep: {} to {}", to_string(shape_), to_string(wanted)));
    shape[i] = shape_[i - lead];
  }
  if (!broadcasts_to(shape_, shape)) {
    throw ShapeError(fmt::format("[expand] {} does not broadcast to {}", to_string(shape_), to_string(shape)));
  }
  Strides strides;
  for (int i = 0; i < shape.size(); ++i) {
    const bool repeated = i < lead || (shape_[i - lead] == 1 && shape[i] != 1);
    strides.push_back(repeated ? 0 : strides_[i - lead]);
  }
  return alias(shape, strides, offset_);
}

Tensor Tensor::slice(int dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  require_defined("slice");
  const int at = normalize_dim("slice", dim, shape_);
  if (step < 1) throw ValueError(fmt::format("[slice] step below 1: {}", step));
  const std::int64_t first = clamp_bound(begin, shape_[at]);
  const std::int64_t last = std::max(clamp_bound(end, shape_[at]), first);
  Shape shape = shape_;
  Strides strides = strides_;
  shape[at] = last == first ? 0 : (last - first - 1) / step + 1;
  if (shape[at] > 1) strides[at] *= step;
  return alias(shape, strides, shape.numel() == 0 ? offset_ : offset_ + first * strides_[at]);
}

Tensor Tensor::select(int dim, std::int64_t index) const {
  require_defined("select");
  const int at = normalize_dim("select", dim, shape_);
  const std::int64_t size = shape_[at];
  if (index < -size || index >= size) {
    throw IndexError(fmt::format("[select] index out of range: {} of {}", index, size));
  }
  Shape shape = shape_;
  Strides strides = strides_;
  shape.erase(at);
  strides.erase(at);
  const std::int64_t from = index < 0 ? index + size : index;
  return alias(shape, strides, shape.numel() == 0 ? offset_ : offset_ + from * strides_[at]);
}

}  // namespace troupe
