// Conversion between dtypes, and the blocks in which the other kernels convert.
//
// Kernels exist for the dtypes that operations are computed in (compute_dtype): i32, i64, f32 and f64. What is stored
// in another is converted to one of these a block at a time, on the stack, and the result back. So a result of 16 bits
// is that of the f32 kernel rounded once, and one of fewer than 32 bits that of the i32 kernel wrapped around.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tensor/cpu/loops.h"
#include "tensor/tensor.h"

namespace troupe::cpu {

/// A stretch of elements somewhere in memory; the stride is in elements.
template <class Byte>
struct Row {
  Byte* data;
  DType dtype;
  std::int64_t stride;
};

/// out = x, converted as Tensor::to says, `count` elements.
void convert(const Row<std::byte>& out, const Row<const std::byte>& x, std::int64_t count);

/// How many elements are converted at a time.
inline constexpr std::int64_t kBlockElements = 256;

/// An operand of a kernel: as it is stored, and as the kernel knows it, which is the same dtype or compute_dtype of it.
struct Operand {
  std::byte* data;
  DType stored;
  DType known;
};

/// `x` as an operand of which a kernel knows compute_dtype. Operands that are read are not written.
inline Operand computed(const Tensor& x) {
  return {const_cast<std::byte*>(x.bytes()), x.dtype(), compute_dtype(x.dtype())};
}
/// To be made before those that are read (see mutable_elements).
inline Operand computed_into(Tensor& x) { return {x.mutable_bytes(), x.dtype(), compute_dtype(x.dtype())}; }

template <std::size_t N>
using BlockKernel = std::function<void(const kernels::Walk<N>& walk, const std::array<std::byte*, N>& data)>;

/// Calls `kernel` for parts of `walk` that make up all of it, with addresses of what the kernel knows: the whole at
/// once where nothing is converted, else blocks. Operand 0 is written, the others are read. Parts run in parallel.
/// Instantiated for 2 and 3 operands. `kernel` must not throw.
template <std::size_t N>
void for_each_block(const kernels::Walk<N>& walk, const std::array<Operand, N>& operands, const BlockKernel<N>& kernel);

/// Strided elements of `dtype`, read as T: its own type, or that of compute_dtype.
template <class T>
struct Source {
  const std::byte* data;
  DType dtype;

  /// Calls f(first, stride, count) for stretches that make up, in order, the `count` elements from `offset` on.
  /// Up to kBlockElements are one stretch.
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
