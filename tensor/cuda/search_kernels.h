// The kernel of search.h for any launcher, see launcher.h.
#pragma once

#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/kernels/search.h"
#include "tensor/kernels/search_formula.h"

namespace troupe::cuda {

template <class T>
struct SearchBody {
  std::int64_t* out;
  const T* sorted;
  const T* values;
  std::int64_t size;
  std::int64_t columns;
  bool right;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    out[i] = kernels::place_in(sorted + i / columns * size, size, values[i], right);
  }
};

template <class Launcher>
void search_with(const Launcher& launcher, Tensor& out, const Tensor& sorted, const Tensor& values, Side side) {
  if (out.numel() == 0) return;
  auto* const to = address<std::int64_t>(written(out));
  dispatch_compute(sorted.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), SearchBody<T>{to, address<T>(read(sorted)), address<T>(read(values)), sorted.size(1),
                                             values.size(1), side == Side::right});
  });
}

}  // namespace troupe::cuda
