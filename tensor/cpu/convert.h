// Conversion between dtypes, and the block-wise conversion that other kernels use.
//
// Kernels exist only for the compute dtypes: i32, i64, f32 and f64. Elements of other dtypes are converted block by
// block, on the stack, and the result is converted back. So a 16-bit float result is that of the f32 kernel rounded
// once, and an integer result of fewer than 32 bits is that of the i32 kernel wrapped around.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tensor/cpu/loops.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// A stretch of elements in memory. The stride is in elements. Does not own `data`.
template <class Byte>
struct Row {
  Byte* data;
  DType dtype;
  std::int64_t stride;
};

/// out = x for `count` elements, converted as by Tensor::to.
void convert(const Row<std::byte>& out, const Row<const std::byte>& x, std::int64_t count);

/// The number of elements converted at a time.
inline constexpr std::int64_t kBlockElements = 256;

/// An operand of a kernel. `stored` is its dtype in memory; `known` is the dtype that the kernel reads or writes:
/// `stored` or its compute_dtype.
struct Operand {
  std::byte* data;
  DType stored;
  DType known;
};

/// Returns `x` as an operand that a kernel reads as its compute_dtype. Kernels do not write such operands.
inline Operand computed(const Tensor& x) {
  return {const_cast<std::byte*>(x.bytes()), x.dtype(), compute_dtype(x.dtype())};
}
/// Returns `x` as the operand that a kernel writes. REQUIRES: called before computed() of the operands that are read
/// (see mutable_elements).
inline Operand computed_into(Tensor& x) { return {x.mutable_bytes(), x.dtype(), compute_dtype(x.dtype())}; }

template <std::size_t N>
using BlockKernel = std::function<void(const kernels::Walk<N>& walk, const std::array<std::byte*, N>& data)>;

/// Calls `kernel` for parts that cover `walk`, with addresses in the known dtypes: the whole walk if no operand is
/// converted, else blocks. Operand 0 is written, the others are read. Parts run in parallel. Instantiated for 2 and 3
/// operands. REQUIRES: `kernel` does not throw.
template <std::size_t N>
void for_each_block(const kernels::Walk<N>& walk, const std::array<Operand, N>& operands, const BlockKernel<N>& kernel);

/// Strided elements of `dtype`, read as T, the type of `dtype` or of its compute_dtype.
template <class T>
struct Source {
  const std::byte* data;
  DType dtype;

  /// Calls f(first, stride, count) for consecutive stretches that cover the `count` elements from `offset` on. Up to
  /// kBlockElements elements are one stretch.
  template <class F>
  void read(std::int64_t offset, std::int64_t stride, std::int64_t count, const F& f) const {
    const bool converts = dtype != dtype_of<T>;
    alignas(64) std::array<T, kBlockElements> block;
    const std::int64_t step = converts ? kBlockElements : count;
    for (std::int64_t begin = 0; begin < count; begin += step) {
      const std::int64_t size = std::min(step, count - begin);
      const std::byte* const from = data + (offset + begin * stride) * static_cast<std::int64_t>(size_of(dtype));
      if (converts) convert({reinterpret_cast<std::byte*>(block.data()), dtype_of<T>, 1}, {from, dtype, stride}, size);
      f(converts ? block.data() : reinterpret_cast<const T*>(from), converts ? 1 : stride, size);
    }
  }
};

}  // namespace troupe::cpu
