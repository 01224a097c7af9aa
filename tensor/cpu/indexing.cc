#include "tensor/kernels/indexing.h"

#include <cstring>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {
namespace {

void take(Tensor& out, const Tensor& x, const Tensor& index) {
  if (out.numel() == 0) return;
  const std::int64_t count = out.size(1);
  const std::int64_t size = x.size(1);
  const std::size_t bytes = static_cast<std::size_t>(x.size(2)) * size_of(x.dtype());
  std::byte* const to = out.mutable_bytes();
  const std::byte* const from = x.bytes();
  const auto* const at = elements<std::int64_t>(index);
  parallel_for(out.size(0) * count, x.size(2), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t first = begin / count * size;  // row of `x` with which the present outer part begins
    std::int64_t place = begin % count;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = first + at[place];
      std::memcpy(to + static_cast<std::size_t>(i) * bytes, from + static_cast<std::size_t>(row) * bytes, bytes);
      if (++place < count) continue;
      place = 0;
      first += size;
    }
  });
}

void put_add(Tensor& out, const Tensor& x, const Tensor& index) {
  if (x.numel() == 0) return;
  const std::int64_t count = x.size(1);
  const std::int64_t size = out.size(1);
  const std::int64_t inner = x.size(2);
  const auto* const at = elements<std::int64_t>(index);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    // Runs on one thread: two indices may name the same place.
    for (std::int64_t outer = 0; outer < x.size(0); ++outer) {
      for (std::int64_t i = 0; i < count; ++i) {
        T* const row = to + (outer * size + at[i]) * inner;
        const T* const add = from + (outer * count + i) * inner;
        for (std::int64_t j = 0; j < inner; ++j) row[j] = wrapping_sum(row[j], add[j]);
      }
    }
  });
}

void copy_rows(Tensor& out, const Tensor& x, const Tensor& index) {
  if (x.numel() == 0) return;
  const std::int64_t width = x.numel() / x.size(0);
  const std::size_t bytes = static_cast<std::size_t>(width) * size_of(x.dtype());
  std::byte* const to = out.mutable_bytes();
  const std::byte* const from = x.bytes();
  const auto* const at = elements<std::int64_t>(index);
  parallel_for(index.numel(), width, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::size_t place = static_cast<std::size_t>(at[i]) * bytes;
      std::memcpy(to + place, from + place, bytes);
    }
  });
}

void pick(Tensor& out, const Tensor& x, const Tensor& index) {
  if (out.numel() == 0) return;
  const auto* const at = elements<std::int64_t>(index);
  dispatch_opaque(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for (std::int64_t i = 0; i < out.numel(); ++i) to[i] = from[i * x.size(1) + at[i]];
  });
}

void place(Tensor& out, const Tensor& x, const Tensor& index) {
  if (x.numel() == 0) return;
  const auto* const at = elements<std::int64_t>(index);
  dispatch_opaque(out.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    for (std::int64_t i = 0; i < x.numel(); ++i) to[i * out.size(1) + at[i]] = from[i];
  });
}

bool all_inside(const Tensor& index, std::int64_t size) {
  const auto* const at = elements<std::int64_t>(index);
  // For an index outside [0, size), the highest bit of the index or of last - index is set.
  const std::uint64_t last = static_cast<std::uint64_t>(size) - 1;
  std::uint64_t outside = 0;
  for (std::int64_t i = 0; i < index.numel(); ++i) {
    const auto bits = static_cast<std::uint64_t>(at[i]);
    outside |= bits | (last - bits);
  }
  return index.numel() == 0 || outside >> 63U == 0;
}

}  // namespace

const kernels::IndexKernels index_kernels{
    .take = take, .put_add = put_add, .pick = pick, .place = place, .all_inside = all_inside};
const kernels::RowKernels row_kernels{.copy_rows = copy_rows};

}  // namespace troupe::cpu
