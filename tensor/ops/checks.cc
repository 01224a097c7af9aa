#include "tensor/ops/checks.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tensor/kernels/table.h"

namespace troupe::detail {
namespace {

template <Element T>
bool holds(double value) {
  if constexpr (!std::is_integral_v<T>) {
    return true;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value == 0.0 || value == 1.0;
  } else {
    // The first value above the range is a power of two, hence exact as a double.
    constexpr auto kHigh = static_cast<double>(std::uint64_t{1} << std::numeric_limits<T>::digits);
    constexpr auto kLow = static_cast<double>(std::numeric_limits<T>::min());
    return value >= kLow && value < kHigh && std::trunc(value) == value;
  }
}

}  // namespace

void require_value_of(std::string_view op, double value, DType dtype) {
  const bool fits = dispatch(dtype, [&]<class T>(std::type_identity<T>) { return holds<T>(value); });
  if (!fits) throw DTypeError(fmt::format("[{}] not a value of {}: {}", op, name_of(dtype), value));
}

void require_together(std::string_view op, const Tensor& a, const Tensor& b) {
  a.require_defined(op);
  b.require_defined(op);
  if (a.device() != b.device()) {
    throw DeviceError(fmt::format("[{}] devices differ: {} and {}", op, to_string(a.device()), to_string(b.device())));
  }
}

void require_same_shape(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.shape() == b.shape()) return;
  throw ShapeError(fmt::format("[{}] shapes differ: {} and {}", op, to_string(a.shape()), to_string(b.shape())));
}

void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return;
  throw DTypeError(fmt::format("[{}] dtypes differ: {} and {}", op, name_of(a.dtype()), name_of(b.dtype())));
}

Tensor checked_index(std::string_view op, const Tensor& index, std::int64_t size) {
  index.require_defined(op);
  if (index.dtype() != DType::i64 && index.dtype() != DType::i32) {
    throw DTypeError(fmt::format("[{}] index is {}, not i64 or i32", op, name_of(index.dtype())));
  }
  Tensor result = index.to(DType::i64).contiguous();
  if (kernels_of(result).all_inside(result, size)) return result;
  const Tensor here = result.to(Device::cpu());
  for (const std::int64_t at : here.data<std::int64_t>()) {
    if (at < 0 || at >= size) throw IndexError(fmt::format("[{}] index out of range: {} of {}", op, at, size));
  }
  return result;
}

void require_distinct_elements(std::string_view op, const Tensor& out) {
  if (out.numel() == 0) return;
  for (int i = 0; i < out.dim(); ++i) {
    if (out.strides()[i] != 0 || out.shape()[i] <= 1) continue;
    throw ShapeError(fmt::format("[{}] one element is written more than once: {} strides {}", op,
                                 to_string(out.shape()), to_string(out.strides())));
  }
}

void require_rank(std::string_view op, const Shape& shape, int rank) {
  if (shape.size() != rank) throw ShapeError(fmt::format("[{}] not {} dimensions: {}", op, rank, to_string(shape)));
}

std::int64_t count_to_largest(std::string_view op, const Tensor& index) {
  kernels::AxisSet all_dims{};
  all_dims.fill(true);
  Tensor found = Tensor::empty({}, index.dtype(), index.device());
  kernels_of(index).reduce(kernels::ReduceOp::max, found, index, all_dims);
  const auto largest = found.item<std::int64_t>();
  if (largest == std::numeric_limits<std::int64_t>::max())
    throw ValueError(fmt::format("[{}] too large: {}", op, largest));
  return largest + 1;
}

}  // namespace troupe::detail
