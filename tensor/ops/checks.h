// Checks that several operations share. For the sources of this folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace troupe::detail {

/// Throws DTypeError `[op] not a value of i64: 1.5` unless `dtype` can hold `value`. Floating dtypes hold all numbers.
void require_value_of(std::string_view op, double value, DType dtype);

/// Throws TensorError if either is undefined, DeviceError if they are on different devices.
void require_together(std::string_view op, const Tensor& a, const Tensor& b);

/// Throws ShapeError `[op] shapes differ: (2) and (3)`.
void require_same_shape(std::string_view op, const Tensor& a, const Tensor& b);

/// Throws DTypeError `[op] dtypes differ: f32 and f64`.
void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b);

/// Returns `index` as contiguous i64. Throws DTypeError `[op] index is f32, not i64 or i32`,
/// IndexError `[op] index out of range: 7 of 5`.
[[nodiscard]] Tensor checked_index(std::string_view op, const Tensor& index, std::int64_t size);

/// Returns the largest element of `index` plus 1. REQUIRES: `index` has elements.
/// Throws ValueError `[bincount] too large: 9223372036854775807`.
[[nodiscard]] std::int64_t count_to_largest(std::string_view op, const Tensor& index);

/// Throws ShapeError `[op] one element is written more than once: (2, 3) strides (0, 1)` if a stride of `out` is 0
/// along a dimension of size 2 or more.
void require_distinct_elements(std::string_view op, const Tensor& out);

/// Throws ShapeError `[op] not 4 dimensions: (2, 3)`.
void require_rank(std::string_view op, const Shape& shape, int rank);

}  // namespace troupe::detail
