#include "tensor/kernels/search.h"

#include <bit>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"
#include "tensor/kernels/search_formula.h"

namespace troupe::cpu {

using kernels::place_in;

namespace {

void search(Tensor& out, const Tensor& sorted, const Tensor& values, Side side) {
  if (out.numel() == 0) return;
  const std::int64_t size = sorted.size(1);
  const std::int64_t columns = values.size(1);
  const auto steps = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(size)));
  dispatch_compute(sorted.dtype(), [&]<class T>(std::type_identity<T>) {
    auto* const to = mutable_elements<std::int64_t>(out);
    const T* const row = elements<T>(sorted);
    const T* const from = elements<T>(values);
    parallel_for(out.numel(), steps + 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        to[i] = place_in(row + i / columns * size, size, from[i], side == Side::right);
    });
  });
}

}  // namespace

const kernels::SearchKernels search_kernels{.search = search};

}  // namespace troupe::cpu
