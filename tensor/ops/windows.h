// How windows slide over the last dimensions of tensors: what convolution and pooling check alike. For this folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// One number for each dimension that windows slide along.
struct Windows {
  Shape kernel;
  Shape stride;
  Shape padding;  ///< on each side
  Shape dilation;
};

/// Whether a last window that does not fit any more counts.
enum class LastWindow : std::uint8_t { whole, partial };

/// How many windows fit along each of the last dimensions of `x`. A partial one begins inside, or in the padding before.
/// Throws ValueError `[op] stride below 1: (0, 1)` and the like,
/// ShapeError `[op] window larger than the padded image: (9, 3) over (1, 3, 8, 8)`,
/// `[op] sizes do not fit into 64 bits: window (2) with stride (1), padding (0) and dilation (9223372036854775807) over (1, 1, 8)`.
[[nodiscard]] Shape count_windows(std::string_view op, const Shape& x, const Windows& windows,
                                  LastWindow last = LastWindow::whole);

/// Throws ValueError `[op] stride below 1: (0, 1)` if a number is smaller than `least`.
void require_at_least(std::string_view op, std::string_view what, const Shape& numbers, std::int64_t least);

/// Throws DTypeError `[op] dtypes differ: f32 and f64`, `[op] needs a floating dtype: i64`; as require_together.
/// A conversion between operands is for the caller to see.
void require_one_floating_dtype(std::string_view op, const Tensor& a, const Tensor& b);

/// Throws ShapeError `[op] gradient does not fit: (2, 3) for (2, 4)`.
void require_gradient(std::string_view op, const Tensor& grad, const Shape& expected);

/// Returns the dtype in which tensors like `x` are convolved and pooled: GPUs take 16-bit floats as they are.
[[nodiscard]] DType window_dtype(const Tensor& x);

/// `x` as those kernels take it: contiguous, in its window_dtype.
[[nodiscard]] Tensor windowed(const Tensor& x);

/// `x` as kernels take it: contiguous, and what they do not compute in converted as a whole.
[[nodiscard]] Tensor computed(const Tensor& x);

}  // namespace troupe::detail
