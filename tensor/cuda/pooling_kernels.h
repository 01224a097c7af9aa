// The kernels of tensor/kernels/pooling.h for any launcher, see launcher.h.
//
// Gradients are gathered: the thread of an image element adds the gradients of the windows over it, in their order. If
// the windows of a max pooling are not given, its gradient is added by index (gather_kernels.h).
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/gather_kernels.h"
#include "tensor/cuda/image_elements.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/pool_axis.h"
#include "tensor/cuda/strided.h"

namespace troupe::cuda {

/// The windows over images of one size, and the window of an element of the result.
struct PoolSizes {
  PoolAxis rows;
  PoolAxis columns;
  ImageElements in;
  ImageElements out;

  PoolSizes(const Tensor& images, const Tensor& results, const kernels::PoolWindows& rows_in,
            const kernels::PoolWindows& columns_in)
      : rows(rows_in, images.size(2)), columns(columns_in, images.size(3)), in(images), out(results) {}

  /// Returns the approximate number of elements of a window.
  [[nodiscard]] std::int64_t window_size() const {
    return (rows.end(0) - rows.begin(0)) * (columns.end(0) - columns.begin(0));
  }
  [[nodiscard]] TROUPE_HOST_DEVICE double counted(std::int64_t row, std::int64_t column) const {
    return static_cast<double>(rows.counted(row)) * static_cast<double>(columns.counted(column));
  }
};

/// NaN is largest; of equal elements the first in row-major order counts.
template <class T>
struct MaxPoolBody {
  PoolSizes sizes;
  Place y;
  std::int32_t* where_max;
  Place x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = sizes.out.at(static_cast<std::uint32_t>(i));
    const std::uint32_t image = at.image * sizes.in.size.divisor;
    const std::int64_t last_row = sizes.rows.end(at.row);
    const std::int64_t first_column = sizes.columns.begin(at.column);
    const std::int64_t last_column = sizes.columns.end(at.column);
    std::int64_t best_place = sizes.rows.begin(at.row) * sizes.columns.size + first_column;
    T best = load<T>(x, image + static_cast<std::uint32_t>(best_place));
    for (std::int64_t h = sizes.rows.begin(at.row); h < last_row; h += sizes.rows.step) {
      for (std::int64_t w = first_column; w < last_column; w += sizes.columns.step) {
        const std::int64_t place = h * sizes.columns.size + w;
        const T value = load<T>(x, image + static_cast<std::uint32_t>(place));
        if (value <= best || best != best) continue;
        best = value;
        best_place = place;
      }
    }
    store<T>(y, static_cast<std::uint32_t>(i), best);
    where_max[i] = static_cast<std::int32_t>(best_place);
  }
};

/// One thread per mean.
template <class T>
struct AvgPoolBody {
  PoolSizes sizes;
  Place y;
  Place x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = sizes.out.at(static_cast<std::uint32_t>(i));
    const std::uint32_t image = at.image * sizes.in.size.divisor;
    const std::int64_t last_row = sizes.rows.end(at.row);
    const std::int64_t first_column = sizes.columns.begin(at.column);
    const std::int64_t last_column = sizes.columns.end(at.column);
    double total = 0.0;
    for (std::int64_t h = sizes.rows.begin(at.row); h < last_row; ++h) {
      for (std::int64_t w = first_column; w < last_column; ++w) {
        total += static_cast<double>(load<T>(x, image + static_cast<std::uint32_t>(h * sizes.columns.size + w)));
      }
    }
    store<T>(y, static_cast<std::uint32_t>(i), static_cast<T>(total / sizes.counted(at.row, at.column)));
  }
};

/// One team per mean of a large window.
template <class T, int lanes>
struct AvgPoolTeam {
  struct Shared {
    double totals[lanes];
  };
  PoolSizes sizes;
  Place y;
  Place x;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const auto at = sizes.out.at(static_cast<std::uint32_t>(i));
    const std::uint32_t image = at.image * sizes.in.size.divisor;
    const std::int64_t first_row = sizes.rows.begin(at.row);
    const std::int64_t first_column = sizes.columns.begin(at.column);
    const std::int64_t width = sizes.columns.end(at.column) - first_column;
    const std::int64_t count = (sizes.rows.end(at.row) - first_row) * width;
    team.each([&](int lane) {
      double total = 0.0;
      for (std::int64_t k = lane; k < count; k += lanes) {
        const std::int64_t place = (first_row + k / width) * sizes.columns.size + first_column + k % width;
        total += static_cast<double>(load<T>(x, image + static_cast<std::uint32_t>(place)));
      }
      team.shared.totals[lane] = total;
    });
    join_lanes(team, team.shared.totals, Plus{});
    team.each([&](int lane) {
      if (lane == 0)
        store<T>(y, static_cast<std::uint32_t>(i),
                 static_cast<T>(team.shared.totals[0] / sizes.counted(at.row, at.column)));
    });
  }
};

/// One thread per element of an image.
template <class T>
struct AvgPoolBackwardBody {
  PoolSizes sizes;
  Place dx;
  Place dy;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = sizes.in.at(static_cast<std::uint32_t>(i));
    const std::uint32_t image = at.image * sizes.out.size.divisor;
    const std::int64_t last_row = sizes.rows.last_with(at.row);
    const std::int64_t first_column = sizes.columns.first_with(at.column);
    const std::int64_t last_column = sizes.columns.last_with(at.column);
    T total{0};
    for (std::int64_t row = sizes.rows.first_with(at.row); row < last_row; ++row) {
      T line{0};
      for (std::int64_t column = first_column; column < last_column; ++column) {
        const T share = load<T>(dy, image + static_cast<std::uint32_t>(row * sizes.columns.count + column));
        line += share / static_cast<T>(sizes.counted(row, column));
      }
      total += line;
    }
    store<T>(dx, static_cast<std::uint32_t>(i), total);
  }
};

/// One thread per element of an image. The bits equal the CPU's.
template <class T>
struct MaxPoolBackwardBody {
  PoolSizes sizes;
  Place dx;
  Place dy;
  const std::int32_t* where_max;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = sizes.in.at(static_cast<std::uint32_t>(i));
    const std::uint32_t image = at.image * sizes.out.size.divisor;
    const auto place = static_cast<std::int32_t>(at.row * sizes.in.width.divisor + at.column);
    const std::int64_t last_row = sizes.rows.last_with(at.row);
    const std::int64_t first_column = sizes.columns.first_with(at.column);
    const std::int64_t last_column = sizes.columns.last_with(at.column);
    T total{0};
    for (std::int64_t row = sizes.rows.first_with(at.row); row < last_row; ++row) {
      for (std::int64_t column = first_column; column < last_column; ++column) {
        const std::uint32_t window = image + static_cast<std::uint32_t>(row * sizes.columns.count + column);
        if (where_max[window] == place) total += load<T>(dy, window);
      }
    }
    store<T>(dx, static_cast<std::uint32_t>(i), total);
  }
};

/// Writes, for each element of a result, the place of its source in all images.
struct MaxPlaceBody {
  std::int64_t* to;
  const std::int32_t* where_max;
  std::int64_t out_size;
  std::int64_t in_size;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = i / out_size * in_size + where_max[i]; }
};

/// Calls f(first, count) for stretches of images with fewer than 2^31 elements together, both in `x` and in `y`.
template <class F>
void for_each_stretch(const Tensor& x, const Tensor& y, const F& f, std::int64_t limit = kSmallWalk) {
  const std::int64_t images = x.size(0) * x.size(1);
  const std::int64_t largest = std::max(image_size(x), image_size(y));
  const std::int64_t step = std::max((limit - 1) / largest, std::int64_t{1});
  for (std::int64_t first = 0; first < images; first += step) f(first, std::min(step, images - first));
}

template <class Launcher>
void max_pool_with(const Launcher& launcher, Tensor& y, Tensor& where_max, const Tensor& x,
                   const kernels::PoolWindows& rows, const kernels::PoolWindows& columns) {
  const Place to = written(y);
  auto* const places = address<std::int32_t>(written(where_max));
  const PoolSizes sizes(x, y, rows, columns);
  const std::int64_t in_size = image_size(x);
  const std::int64_t out_size = image_size(y);
  dispatch_floating("max_pool", y.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_stretch(x, y, [&](std::int64_t first, std::int64_t count) {
      launcher.each(count * out_size, MaxPoolBody<T>{sizes, to.from(first * out_size), places + first * out_size,
                                                     read(x).from(first * in_size)});
    });
  });
}

template <class Launcher>
void max_pool_backward_with(const Launcher& launcher, Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  Tensor keys = Tensor::empty({dy.numel()}, DType::i64, dx.device());
  launcher.each(dy.numel(), MaxPlaceBody{address<std::int64_t>(written(keys)), address<std::int32_t>(read(where_max)),
                                         image_size(dy), image_size(dx)});
  Tensor flat = dx.view({1, dx.numel(), 1});
  add_at_keys(launcher, flat, dy.view({1, dy.numel(), 1}), keys);
}

/// The same for a result of the given windows.
template <class Launcher>
void max_pool_backward_with(const Launcher& launcher, Tensor& dx, const Tensor& dy, const Tensor& where_max,
                            const kernels::PoolWindows& rows, const kernels::PoolWindows& columns) {
  const Place to = written(dx);
  const PoolSizes sizes(dx, dy, rows, columns);
  const std::int64_t in_size = image_size(dx);
  const std::int64_t out_size = image_size(dy);
  const auto* const places = address<std::int32_t>(read(where_max));
  dispatch_floating("max_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_stretch(dx, dy, [&](std::int64_t first, std::int64_t count) {
      launcher.each(count * in_size,
                    MaxPoolBackwardBody<T>{sizes, to.from(first * in_size), read(dy).from(first * out_size),
                                           places + first * out_size});
    });
  });
}

template <class Launcher>
void avg_pool_with(const Launcher& launcher, Tensor& y, const Tensor& x, const kernels::PoolWindows& rows,
                   const kernels::PoolWindows& columns) {
  constexpr std::int64_t kLargeWindow = 32;
  const Place to = written(y);
  const PoolSizes sizes(x, y, rows, columns);
  const std::int64_t in_size = image_size(x);
  const std::int64_t out_size = image_size(y);
  dispatch_floating("avg_pool", y.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_stretch(x, y, [&](std::int64_t first, std::int64_t count) {
      const Place part = to.from(first * out_size);
      const Place from = read(x).from(first * in_size);
      if (sizes.window_size() < kLargeWindow) return launcher.each(count * out_size, AvgPoolBody<T>{sizes, part, from});
      with_lanes(sizes.window_size(), [&]<int lanes>(std::integral_constant<int, lanes>) {
        launcher.template teams<lanes>(count * out_size, AvgPoolTeam<T, lanes>{sizes, part, from});
      });
    });
  });
}

template <class Launcher>
void avg_pool_backward_with(const Launcher& launcher, Tensor& dx, const Tensor& dy, const kernels::PoolWindows& rows,
                            const kernels::PoolWindows& columns) {
  const Place to = written(dx);
  const PoolSizes sizes(dx, dy, rows, columns);
  const std::int64_t in_size = image_size(dx);
  const std::int64_t out_size = image_size(dy);
  dispatch_floating("avg_pool_backward", dx.dtype(), [&]<class T>(std::type_identity<T>) {
    for_each_stretch(dx, dy, [&](std::int64_t first, std::int64_t count) {
      launcher.each(count * in_size,
                    AvgPoolBackwardBody<T>{sizes, to.from(first * in_size), read(dy).from(first * out_size)});
    });
  });
}

}  // namespace troupe::cuda
