#include "tensor/kernels/gather.h"

#include <array>
#include <cstdint>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/loops.h"
#include "tensor/cpu/wrapping.h"

namespace troupe::cpu {

using kernels::make_walk;

namespace {

// Returns `strides` with stride 0 along `dim`: the index provides the step there.
Strides still_along(Strides strides, int dim) {
  strides[dim] = 0;
  return strides;
}

/// Calls put(place in `out`, element of `x`) for each index in row-major order.
template <class T, class Put>
void put_by_index(Tensor& out, int dim, const Tensor& index, const Tensor& x, const Put& put) {
  if (index.numel() == 0) return;
  const Strides to_strides = still_along(out.strides(), dim);
  const auto walk = make_walk<3>(index.shape(), {&index.strides(), &to_strides, &x.strides()});
  const std::int64_t step = out.strides()[dim];
  const auto [index_step, to_step, from_step] = walk.row_strides();
  T* const to = mutable_elements<T>(out);
  const T* const from = elements<T>(x);
  const auto* const at = elements<std::int64_t>(index);
  // Runs on one thread: two indices may name the same place. Addresses are held by value, here and below: the compiler
  // must assume that a write of bytes changes those behind a reference.
  walk_range(walk, 0, walk.numel,
             [=, &put, is = index_step, ts = to_step, fs = from_step](const std::array<std::int64_t, 3>& begin,
                                                                      std::int64_t count) {
               for (std::int64_t i = 0; i < count; ++i) {
                 put(to[begin[1] + i * ts + at[begin[0] + i * is] * step], from[begin[2] + i * fs]);
               }
             });
}

void gather(Tensor& out, const Tensor& x, int dim, const Tensor& index) {
  if (out.numel() == 0) return;
  const Strides from_strides = still_along(x.strides(), dim);
  const auto walk = make_walk<2>(out.shape(), {&out.strides(), &from_strides});
  const std::int64_t step = x.strides()[dim];
  const std::array<std::int64_t, 2> steps = walk.row_strides();
  dispatch_opaque(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    const auto* const at = elements<std::int64_t>(index);
    for_each_row(walk, [=, ts = steps[0], fs = steps[1]](const std::array<std::int64_t, 2>& begin, std::int64_t count) {
      if (ts == 1 && fs == 0 && step == 1) {  // rows are gathered along themselves
        const T* const row = from + begin[1];
        T* const out_row = to + begin[0];
        const std::int64_t* const places = at + begin[0];
        for (std::int64_t i = 0; i < count; ++i) out_row[i] = row[places[i]];
        return;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t place = begin[0] + i * ts;  // `out` and `index` have one layout
        to[place] = from[begin[1] + i * fs + at[place] * step];
      }
    });
  });
}

void scatter_add(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    put_by_index<T>(out, dim, index, x, [](T& sum, T value) { sum = wrapping_sum(sum, value); });
  });
}

void scatter(Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  dispatch_opaque(out.dtype(), [&]<class T>(std::type_identity<T>) {
    put_by_index<T>(out, dim, index, x, [](T& place, T value) { place = value; });
  });
}

}  // namespace

const kernels::GatherKernels gather_kernels{.gather = gather, .scatter_add = scatter_add, .scatter = scatter};

}  // namespace troupe::cpu
