// Windows that slide over the last dimensions of tensors: checks shared by convolution and pooling. For this folder.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Sizes and steps of windows: one number per dimension that they slide along.
struct Windows {
  Shape kernel;
  Shape stride;
  Shape padding;  ///< on each side
  Shape dilation;
};

/// Whether a last window that fits only in part counts.
enum class LastWindow : std::uint8_t { whole, partial };

/// Returns the number of windows along each of the last dimensions of `x`. A partial window begins inside `x` or in the
/// padding before it. Throws ValueError `[op] stride below 1: (0, 1)` and the like,
/// ShapeError `[op] window larger than the padded image: (9, 3) over (1, 3, 8, 8)`,
/// `[op] sizes do not fit into 64 bits: window (2) with stride (1), padding (0) and dilation (9223372036854775807) over
/// (1, 1, 8)`.
[[nodiscard]] Shape count_windows(std::string_view op, const Shape& x, const Windows& windows,
                                  LastWindow last = LastWindow::whole);

/// Throws ValueError `[op] stride below 1: (0, 1)` if a number is smaller than `least`.
void require_at_least(std::string_view op, std::string_view what, const Shape& numbers, std::int64_t least);

/// Throws DTypeError `[op] dtypes differ: f32 and f64`, `[op] needs a floating dtype: i64`; as require_together.
/// Why no promotion: a conversion between operands is the caller's explicit choice.
void require_one_floating_dtype(std::string_view op, const Tensor& a, const Tensor& b);

/// Throws ShapeError `[op] gradient does not fit: (2, 3) for (2, 4)`.
void require_gradient(std::string_view op, const Tensor& grad, const Shape& expected);

/// Returns the dtype in which kernels convolve and pool `x`: its own on a GPU, which computes 16-bit floats, else
/// compute_dtype.
[[nodiscard]] DType window_dtype(const Tensor& x);

/// Returns `x` for convolution and pooling kernels: contiguous, in its window_dtype.
[[nodiscard]] Tensor windowed(const Tensor& x);

/// Returns `x` for other kernels: contiguous, converted to compute_dtype.
[[nodiscard]] Tensor computed(const Tensor& x);

}  // namespace troupe::detail
