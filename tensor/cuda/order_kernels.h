// The kernels of tensor/kernels/order.h for any launcher, see launcher.h: they sort keys with the order of the
// elements.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/order.h"
#include "tensor/kernels/order_key.h"

namespace troupe::cuda {

/// Writes the key and the place of element i. Places count over all rows of `size` elements.
template <class T>
struct OrderKeys {
  Strided<1> rows;
  Place x;
  std::int64_t first;  ///< number of the first row here
  std::int64_t size;
  std::int64_t stride;
  std::uint64_t flip;  ///< exclusive-or of keys: all bits of a T for descending order
  std::uint64_t* keys;
  std::int64_t* places;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const Place row = x.from(rows.offsets(static_cast<std::uint32_t>(i / size))[0]);
    keys[first * size + i] = kernels::order_key(load<T>(row.from(i % size * stride), 0)) ^ flip;
    places[first * size + i] = first * size + i;
  }
};

struct RowKeys {
  std::int64_t size;
  std::uint64_t* keys;
  const std::int64_t* places;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { keys[i] = static_cast<std::uint64_t>(places[i] / size); }
};

/// The first k places of each row.
struct FirstPlaces {
  std::int64_t size;
  std::int64_t k;
  std::int64_t* out;
  const std::int64_t* places;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { out[i] = places[i / k * size + i % k] % size; }
};

template <class Launcher>
void order_last_with(const Launcher& launcher, Tensor& out, const Tensor& x, Order order) {
  if (out.numel() == 0) return;
  const int last = x.dim() - 1;
  const std::int64_t size = x.shape()[last];
  const std::int64_t rows = x.numel() / size;
  const Tensor first = x.select(last, 0);
  Tensor keys = Tensor::empty({x.numel()}, DType::i64, x.device());
  Tensor places = Tensor::empty({x.numel()}, DType::i64, x.device());
  // Addresses are taken anew after every sort, because it may move the memory.
  const auto key = [&keys] { return address<std::uint64_t>(written(keys)); };
  const auto place = [&places] { return address<std::int64_t>(written(places)); };
  const int bits = static_cast<int>(size_of(x.dtype())) * 8;
  const std::uint64_t flip = order == Order::ascending ? 0 : ~std::uint64_t{0} >> static_cast<unsigned>(64 - bits);
  // Rows split along an inner dimension would be in another order.
  const Tensor plain = is_small(kernels::make_walk<1>(first.shape(), {&first.strides()}), kSmallWalk)
                           ? first
                           : x.contiguous().select(last, 0);
  const std::int64_t stride = plain.storage().same_as(x.storage()) ? x.strides()[last] : 1;
  std::int64_t done = 0;
  for_each_small(kernels::make_walk<1>(plain.shape(), {&plain.strides()}), [&](const auto& some, const auto& at) {
    dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
      launcher.each(some.numel * size,
                    OrderKeys<T>{some, read(plain).from(at[0]), done, size, stride, flip, key(), place()});
    });
    done += some.numel;
  });
  launcher.sort_pairs(keys, places, bits);
  if (rows > 1) {
    // The sort is stable, so the order within each row stays.
    launcher.each(x.numel(), RowKeys{size, key(), place()});
    launcher.sort_pairs(keys, places, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(rows))));
  }
  const std::int64_t k = out.shape()[last];
  launcher.each(out.numel(), FirstPlaces{size, k, address<std::int64_t>(written(out)), place()});
}

}  // namespace troupe::cuda
