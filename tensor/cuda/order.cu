#include "tensor/kernels/order.h"

#include <cub/device/device_radix_sort.cuh>

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/order_kernels.h"
#include "tensor/cuda/sort_pairs.h"

namespace troupe::cuda {

void sort_pairs(Tensor& keys, Tensor& values, int bits) {
  const Launcher launcher(keys.device());
  const auto count = keys.numel();
  Tensor other_keys = Tensor::empty({count}, DType::i64, keys.device());
  Tensor other_values = Tensor::empty({count}, DType::i64, keys.device());
  const auto key = [](Tensor& x) { return reinterpret_cast<std::uint64_t*>(written(x).data); };
  const auto value = [](Tensor& x) { return reinterpret_cast<std::int64_t*>(written(x).data); };
  cub::DoubleBuffer<std::uint64_t> both_keys(key(keys), key(other_keys));
  cub::DoubleBuffer<std::int64_t> both_values(value(values), value(other_values));
  std::size_t room_size = 0;
  const auto sort = [&](void* room) {
    require_success(
        "sort", launcher.index(),
        cub::DeviceRadixSort::SortPairs(room, room_size, both_keys, both_values, count, 0, bits, launcher.stream()));
  };
  sort(nullptr);
  Tensor room = Tensor::empty({static_cast<std::int64_t>(room_size)}, DType::u8, keys.device());
  sort(written(room).data);
  if (both_keys.Current() != key(keys)) keys = other_keys;
  if (both_values.Current() != value(values)) values = other_values;
}

namespace {

void order_last(Tensor& out, const Tensor& x, Order order) { order_last_with(Launcher(out.device()), out, x, order); }

}  // namespace

const kernels::OrderKernels order_kernels{.order_last = order_last};

}  // namespace troupe::cuda
