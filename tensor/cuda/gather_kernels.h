// The kernels of tensor/kernels/gather.h for any launcher, see launcher.h.
//
// One thread adds all elements of a place, in the order of the index, so sums have the bits of the CPU. For this the
// index is sorted stably.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/reduce_kernels.h"
#include "tensor/cuda/strided.h"

namespace troupe::cuda {

/// out = x at `index`, which selects along one dimension of `x` with stride `step`. T is an unsigned integer of the
/// element's size.
template <class T>
struct GatherBody {
  Strided<3> walk;  ///< out, x without that dimension, index
  Place out;
  Place x;
  Place index;
  std::int64_t step;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return element<T>(x.from(at[1] + element<std::int64_t>(index, at[2]) * step), 0);
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { element<T>(out, walk.offsets(i)[0]) = value; }
};

/// out at `index` = x. REQUIRES: no two elements of `index` name the same place.
template <class T>
struct ScatterBody {
  Strided<3> walk;  ///< out without that dimension, x, index
  Place out;
  Place x;
  Place index;
  std::int64_t step;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const { return element<T>(x, walk.offsets(i)[1]); }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const {
    const auto at = walk.offsets(i);
    element<T>(out.from(at[0] + element<std::int64_t>(index, at[2]) * step), 0) = value;
  }
};

/// The place of each index element in the flattened target.
struct DestinationBody {
  Strided<2> walk;  ///< index, target without the dimension of the index
  std::int64_t* to;
  const std::int64_t* index;
  std::int64_t base;
  std::int64_t step;

  TROUPE_HOST_DEVICE std::int64_t value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return base + at[1] + index[at[0]] * step;
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, std::int64_t value) const { to[walk.offsets(i)[0]] = value; }
};

struct CountBody {
  std::int64_t* to;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = i; }
};

/// out (outer, size, inner) at keys += x (outer, count, inner) at places. REQUIRES: keys are sorted, equal ones by
/// place. The thread of the first of equal keys adds for all of them.
template <class T>
struct SegmentSums {
  T* out;
  const T* x;
  const std::int64_t* keys;
  const std::int64_t* places;
  std::int64_t size;
  std::int64_t count;
  std::int64_t inner;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t column = i % inner;
    const std::int64_t k = i / inner % count;
    const std::int64_t outer = i / inner / count;
    if (k > 0 && keys[k - 1] == keys[k]) return;
    T& to = out[(outer * size + keys[k]) * inner + column];
    T total = to;
    for (std::int64_t j = k; j < count && keys[j] == keys[k]; ++j) {
      total = Add{}(total, x[(outer * count + places[j]) * inner + column]);
    }
    to = total;
  }
};

/// out at keys = x at places. REQUIRES: keys are sorted, equal ones by place; the last of these is written.
template <class T>
struct LastOfSegments {
  T* out;
  const T* x;
  const std::int64_t* keys;
  const std::int64_t* places;
  std::int64_t count;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    if (i + 1 < count && keys[i + 1] == keys[i]) return;
    out[keys[i]] = x[places[i]];
  }
};

inline Strides still_along(Strides strides, int dim) {
  strides[dim] = 0;
  return strides;
}

template <template <class> class Body, class Launcher>
void move_with(const Launcher& launcher, const Shape& shape, const std::array<const Strides*, 3>& strides,
               const Place& out, const Place& x, const Place& index, std::int64_t step) {
  for_each_small(kernels::make_walk<3>(shape, strides), [&](const auto& walk, const auto& at) {
    dispatch_bits(x.dtype, [&]<class T>(std::type_identity<T>) {
      launcher.map(walk.numel, Body<T>{walk, out.from(at[0]), x.from(at[1]), index.from(at[2]), step});
    });
  });
}

template <class Launcher>
void gather_with(const Launcher& launcher, Tensor& out, const Tensor& x, int dim, const Tensor& index) {
  if (out.numel() == 0) return;
  const Strides from = still_along(x.strides(), dim);
  const Place to = written(out);
  move_with<GatherBody>(launcher, out.shape(), {&out.strides(), &from, &out.strides()}, to, read(x), read(index),
                        x.strides()[dim]);
}

template <class Launcher>
void take_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& index) {
  if (out.numel() == 0) return;
  const Strides from{x.size(1) * x.size(2), 0, 1};
  const Strides along{0, 1, 0};
  const Place to = written(out);
  move_with<GatherBody>(launcher, out.shape(), {&out.strides(), &from, &along}, to, read(x), read(index), x.size(2));
}

template <class Launcher>
void pick_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& index) {
  if (out.numel() == 0) return;
  const Strides rows{x.size(1)};
  const Strides each{1};
  const Place to = written(out);
  move_with<GatherBody>(launcher, out.shape(), {&each, &rows, &each}, to, read(x), read(index), 1);
}

template <class Launcher>
void place_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& index) {
  if (x.numel() == 0) return;
  const Strides rows{out.size(1)};
  const Strides each{1};
  const Place to = written(out);
  move_with<ScatterBody>(launcher, x.shape(), {&rows, &each, &each}, to, read(x), read(index), 1);
}

/// Sorts `keys` and returns the former position of each. REQUIRES: keys are below `size`.
template <class Launcher>
Tensor sorted_places(const Launcher& launcher, Tensor& keys, std::int64_t size) {
  Tensor places = Tensor::empty({keys.numel()}, DType::i64, keys.device());
  launcher.each(keys.numel(), CountBody{address<std::int64_t>(written(places))});
  launcher.sort_pairs(keys, places, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size))));
  return places;
}

/// Adds x to `out` at `keys` (count). Sorts `keys`.
template <class Launcher>
void add_at_keys(const Launcher& launcher, Tensor& out, const Tensor& x, Tensor& keys) {
  const std::int64_t size = out.size(1);
  const std::int64_t count = x.size(1);
  const std::int64_t inner = x.size(2);
  const Tensor places = sorted_places(launcher, keys, size);
  const Place to = written(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(x.numel(), SegmentSums<T>{address<T>(to), address<T>(read(x)), address<std::int64_t>(read(keys)),
                                            address<std::int64_t>(read(places)), size, count, inner});
  });
}

template <class Launcher>
void put_add_with(const Launcher& launcher, Tensor& out, const Tensor& x, const Tensor& index) {
  if (x.numel() == 0) return;
  Tensor keys = index.clone();
  add_at_keys(launcher, out, x, keys);
}

/// Returns the place of each element of `index` in the flattened `out`.
template <class Launcher>
Tensor destinations(const Launcher& launcher, const Tensor& out, int dim, const Tensor& index) {
  Tensor keys = Tensor::empty({index.numel()}, DType::i64, out.device());
  const Strides target = still_along(out.strides(), dim);
  const Place to = written(keys);
  for_each_small(kernels::make_walk<2>(index.shape(), {&index.strides(), &target}), [&](const auto& walk,
                                                                                        const auto& at) {
    launcher.map(walk.numel, DestinationBody{walk, address<std::int64_t>(to) + at[0],
                                             address<std::int64_t>(read(index)) + at[0], at[1], out.strides()[dim]});
  });
  return keys;
}

/// Returns the part of `x` that an index of `shape` selects.
inline Tensor part_of(const Tensor& x, const Shape& shape) {
  Tensor part = x;
  for (int d = 0; d < x.dim(); ++d) part = part.slice(d, 0, shape[d]);
  return part.contiguous();
}

template <class Launcher>
void scatter_add_with(const Launcher& launcher, Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  if (index.numel() == 0) return;
  Tensor keys = destinations(launcher, out, dim, index);
  Tensor flat = out.view({1, out.numel(), 1});
  add_at_keys(launcher, flat, part_of(x, index.shape()).view({1, index.numel(), 1}), keys);
}

template <class Launcher>
void scatter_with(const Launcher& launcher, Tensor& out, int dim, const Tensor& index, const Tensor& x) {
  if (index.numel() == 0) return;
  Tensor keys = destinations(launcher, out, dim, index);
  const Tensor places = sorted_places(launcher, keys, out.numel());
  const Tensor from = part_of(x, index.shape());
  const Place to = written(out);
  dispatch_bits(out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(index.numel(),
                  LastOfSegments<T>{address<T>(to), address<T>(read(from)), address<std::int64_t>(read(keys)),
                                    address<std::int64_t>(read(places)), index.numel()});
  });
}

/// Returns whether all elements of `index`, contiguous i64, are in [0, size). Waits for the GPU.
template <class Launcher>
bool all_inside_with(const Launcher& launcher, const Tensor& index, std::int64_t size) {
  if (index.numel() == 0) return true;
  const Tensor flat = index.view({index.numel()});
  Tensor ends = Tensor::empty({2}, DType::i64, index.device());
  Tensor low = ends.select(0, 0);
  Tensor high = ends.select(0, 1);
  const Strides none;
  const auto kept = kernels::make_walk<1>({}, {&none});
  const auto folded = kernels::make_walk<1>(flat.shape(), {&flat.strides()});
  fold_with<std::int64_t>(launcher, MinFold<std::int64_t>{}, low, flat, kept, folded);
  fold_with<std::int64_t>(launcher, MaxFold<std::int64_t>{}, high, flat, kept, folded);
  const Tensor here = ends.to(Device::cpu());
  const auto found = here.data<std::int64_t>();
  return found[0] >= 0 && found[1] < size;
}

}  // namespace troupe::cuda
