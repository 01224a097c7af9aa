// The kernels of convert and fill (elementwise.h) for any launcher, see launcher.h.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"

namespace troupe::cuda {

/// Copies elements without conversion. T is an unsigned integer of their size.
template <class T>
struct CopyBody {
  Strided<2> walk;
  Place out;
  Place x;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const { return element<T>(x, walk.offsets(i)[1]); }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { element<T>(out, walk.offsets(i)[0]) = value; }
};

/// Converts elements through T, the compute type of `x`, which holds every value of its dtype.
template <class T>
struct ConvertBody {
  Strided<2> walk;
  Place out;
  Place x;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const { return load<T>(x, walk.offsets(i)[1]); }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { store_converted(out, walk.offsets(i)[0], value); }
};

template <class T>
struct FillBody {
  Strided<1> walk;
  Place out;
  T bits;

  TROUPE_HOST_DEVICE T value(std::uint32_t /*i*/) const { return bits; }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { element<T>(out, walk.offsets(i)[0]) = value; }
};

template <class Launcher>
void convert_with(const Launcher& launcher, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  const Place from = read(x);
  for_each_small(kernels::make_walk<2>(out.shape(), {&out.strides(), &x.strides()}),
                 [&](const auto& walk, const auto& at) {
                   if (out.dtype() == x.dtype()) {
                     return dispatch_bits(out.dtype(), [&]<class T>(std::type_identity<T>) {
                       launcher.map(walk.numel, CopyBody<T>{walk, to.from(at[0]), from.from(at[1])});
                     });
                   }
                   dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
                     launcher.map(walk.numel, ConvertBody<T>{walk, to.from(at[0]), from.from(at[1])});
                   });
                 });
}

template <class Launcher>
void fill_with(const Launcher& launcher, Tensor& out, double number) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  for_each_small(kernels::make_walk<1>(out.shape(), {&out.strides()}), [&](const auto& walk, const auto& at) {
    dispatch_bits(out.dtype(), [&]<class T>(std::type_identity<T>) {
      T bits{};
      dispatch(out.dtype(), [&]<class Stored>(std::type_identity<Stored>) {
        if constexpr (sizeof(Stored) == sizeof(T)) bits = std::bit_cast<T>(static_cast<Stored>(number));
      });
      launcher.map(walk.numel, FillBody<T>{walk, to.from(at[0]), bits});
    });
  });
}

}  // namespace troupe::cuda
