#include "tensor/shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>

#include "tensor/checked_size.h"

namespace troupe {

InlineDims::InlineDims(std::span<const std::int64_t> values) {
  if (values.size() > static_cast<std::size_t>(kDimsMax)) {
    throw ShapeError(fmt::format("[shape] more than {} dimensions: {}", kDimsMax, values.size()));
  }
  std::copy(values.begin(), values.end(), values_.begin());
  size_ = static_cast<int>(values.size());
}

void InlineDims::insert(int at, std::int64_t value) {
  if (size_ == kDimsMax) throw ShapeError(fmt::format("[shape] more than {} dimensions: {}", kDimsMax, size_ + 1));
  std::copy_backward(values_.begin() + at, values_.begin() + size_, values_.begin() + size_ + 1);
  values_[static_cast<std::size_t>(at)] = value;
  ++size_;
}

void InlineDims::erase(int at) {
  std::copy(values_.begin() + at + 1, values_.begin() + size_, values_.begin() + at);
  --size_;
}

std::int64_t Shape::numel() const {
  std::int64_t product = 1;
  bool overflow = false;
  bool empty = false;
  for (std::int64_t size : *this) {
    if (size < 0) throw ShapeError(fmt::format("[shape] negative size: {}", to_string(*this)));
    empty = empty || size == 0;
    overflow = overflow || __builtin_mul_overflow(product, size, &product);
  }
  if (empty) return 0;
  if (overflow) throw ShapeError(fmt::format("[shape] too many elements: {}", to_string(*this)));
  return product;
}

std::string to_string(const InlineDims& dims) { return fmt::format("({})", fmt::join(dims.begin(), dims.end(), ", ")); }

std::ostream& operator<<(std::ostream& out, const InlineDims& dims) { return out << to_string(dims); }

Strides contiguous_strides(const Shape& shape) {
  Strides strides(std::span<const std::int64_t>(shape.begin(), shape.end()));
  std::int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = step;
    // The sizes around a 0 may overflow. No stride of an empty tensor is used, so the last one that fits is kept.
    std::int64_t next = 0;
    if (!__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &next)) step = next;
  }
  return strides;
}

Shape with_last(Shape shape, std::int64_t size) {
  shape.push_back(size);
  return shape;
}

Shape joined_around(const Shape& shape, int dim) {
  const auto product = [&](int begin, int end) {
    detail::CheckedSize size = 1;
    for (int i = begin; i < end; ++i) size = size * shape[i];
    if (!size.fits()) throw ShapeError(fmt::format("[shape] too many elements: {}", to_string(shape)));
    return size.value();
  };
  return {product(0, dim), shape[dim], product(dim + 1, shape.size())};
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() < b.size() ? b : a;
  const Shape& shorter = a.size() < b.size() ? a : b;
  Shape result = longer;
  const int lead = longer.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const std::int64_t other = shorter[i];
    std::int64_t& size = result[lead + i];
    if (size == other || other == 1) continue;
    if (size != 1) {
      throw ShapeError(fmt::format("[{}] shapes do not broadcast: {} and {}", op, to_string(a), to_string(b)));
    }
    size = other;
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  const int lead = to.size() - from.size();
  if (lead < 0) return false;
  for (int i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[lead + i]) return false;
  }
  return true;
}

int normalize_dim(std::string_view op, int dim, const Shape& shape) {
  const int rank = shape.size();
  if (dim < -rank || dim >= rank) {
    throw ShapeError(fmt::format("[{}] dimension out of range: {} of {}", op, dim, to_string(shape)));
  }
  return dim < 0 ? dim + rank : dim;
}

}  // namespace troupe
