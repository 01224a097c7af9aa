// The kernels of tensor/kernels/coalesce.h for any launcher, see launcher.h.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tensor/cuda/fold_parts.h"
#include "tensor/cuda/formulas.h"
#include "tensor/cuda/gather_kernels.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/scan_kernels.h"
#include "tensor/kernels/coalesce.h"

namespace troupe::cuda {

/// Writes 1 where a run of equal keys begins, else 0.
struct RunStartBody {
  std::int64_t* to;
  const std::int64_t* keys;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = i == 0 || keys[i - 1] != keys[i] ? 1 : 0; }
};

/// Writes the begin and the key of each run. `ranks` are the cumulative sums of the run starts.
struct RunsBody {
  std::int64_t* begins;
  std::int64_t* numbers;
  const std::int64_t* ranks;
  const std::int64_t* keys;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    if (i > 0 && ranks[i - 1] == ranks[i]) return;
    begins[ranks[i] - 1] = i;
    numbers[ranks[i] - 1] = keys[i];
  }
};

/// i: element of (runs, width). Rows are added in their given order, from the first.
template <class T>
struct RunSums {
  T* out;
  const T* x;
  const std::int64_t* begins;
  const std::int64_t* places;
  std::int64_t runs;
  std::int64_t count;
  std::int64_t width;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t run = i / width;
    const std::int64_t column = i % width;
    const std::int64_t end = run + 1 < runs ? begins[run + 1] : count;
    std::int64_t k = begins[run];
    T total = x[places[k] * width + column];
    for (++k; k < end; ++k) total = Add{}(total, x[places[k] * width + column]);
    out[i] = total;
  }
};

/// 1 if a number is not less than the next, else 0.
struct NotAscending {
  const std::int64_t* numbers;
  TROUPE_HOST_DEVICE double operator()(std::int64_t i) const { return numbers[i] < numbers[i + 1] ? 0.0 : 1.0; }
};

template <class Launcher>
kernels::SummedRows sum_by_number_with(const Launcher& launcher, const Tensor& numbers, const Tensor& x,
                                       std::int64_t limit) {
  const std::int64_t count = numbers.numel();
  const std::int64_t width = x.size(1);
  const Device device = x.device();
  if (count == 0) return {numbers, x};
  Tensor keys = numbers.clone();
  Tensor places = Tensor::empty({count}, DType::i64, device);
  launcher.each(count, CountBody{address<std::int64_t>(written(places))});
  launcher.sort_pairs(keys, places, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(limit))));
  Tensor starts = Tensor::empty({1, count, 1}, DType::i64, device);
  Tensor ranks = Tensor::empty({1, count, 1}, DType::i64, device);
  const auto* const sorted = address<std::int64_t>(read(keys));
  launcher.each(count, RunStartBody{address<std::int64_t>(written(starts)), sorted});
  cumsum_with(launcher, ranks, starts, kernels::Direction::forward);
  const auto runs = ranks.view({count}).slice(0, count - 1).template item<std::int64_t>();
  Tensor begins = Tensor::empty({runs}, DType::i64, device);
  kernels::SummedRows result{Tensor::empty({runs}, DType::i64, device),
                             Tensor::empty({runs, width}, x.dtype(), device)};
  auto* const run_begins = address<std::int64_t>(written(begins));
  launcher.each(count, RunsBody{run_begins, address<std::int64_t>(written(result.numbers)),
                                address<std::int64_t>(read(ranks)), sorted});
  const Place to = written(result.rows);
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(runs * width, RunSums<T>{address<T>(to), address<T>(read(x)), run_begins,
                                           address<std::int64_t>(read(places)), runs, count, width});
  });
  return result;
}

template <class Launcher>
bool ascends_with(const Launcher& launcher, const Tensor& numbers) {
  const std::int64_t pairs = std::max(numbers.numel() - 1, std::int64_t{0});
  return folded_here(launcher, numbers.device(), pairs, NotAscending{address<std::int64_t>(read(numbers))}, Plus{}) ==
         0.0;
}

}  // namespace troupe::cuda
