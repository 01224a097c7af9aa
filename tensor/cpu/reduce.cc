#include "tensor/kernels/reduce.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/elements.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cpu {

using kernels::AxisSet;
using kernels::Extreme;
using kernels::make_walk;
using kernels::ReduceOp;
using kernels::Walk;

namespace {

constexpr std::size_t kLanes = 16;
constexpr std::int64_t kColumns = 128;

template <class T, class R>
struct Sum {
  using Total = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;  // integers wrap around
  double divisor = 1.0;
  static Total start() { return Total{0}; }
  static Total step(Total total, T value) { return total + static_cast<Total>(value); }
  static Total join(Total a, Total b) { return a + b; }
  [[nodiscard]] R finish(Total total) const {
    if constexpr (std::is_floating_point_v<T>) return static_cast<R>(total / divisor);
    return static_cast<R>(total);
  }
};

template <class T, class R>
struct Product {
  using Total = typename Sum<T, R>::Total;
  static Total start() { return Total{1}; }
  static Total step(Total total, T value) { return total * static_cast<Total>(value); }
  static Total join(Total a, Total b) { return a * b; }
  [[nodiscard]] R finish(Total total) const { return static_cast<R>(total); }
};

template <class T>
struct Max {
  using Total = T;
  using Limits = std::numeric_limits<T>;
  static T start() { return Limits::has_infinity ? -Limits::infinity() : Limits::lowest(); }
  // `value != value` holds only for NaN. NaN stays: no comparison with it is true.
  static T step(T total, T value) { return value > total || value != value ? value : total; }
  static T join(T a, T b) { return step(a, b); }
  [[nodiscard]] T finish(T total) const { return total; }
};

template <class T>
struct Min {
  using Total = T;
  using Limits = std::numeric_limits<T>;
  static T start() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static T step(T total, T value) { return value < total || value != value ? value : total; }
  static T join(T a, T b) { return step(a, b); }
  [[nodiscard]] T finish(T total) const { return total; }
};

template <class Fold>
using Lanes = std::array<typename Fold::Total, kLanes>;

// Folds `rounds` times kLanes elements.
template <class Fold, class T>
void fold_rounds(Lanes<Fold>& lanes, const T* row, std::int64_t stride, std::int64_t rounds) {
  vectorized([ to = &lanes, row, stride, rounds ]() __attribute__((always_inline)) {
    Lanes<Fold> local = *to;
    if (stride == 1) {
      for (std::int64_t i = 0; i < rounds; ++i) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          local[lane] =
              Fold::step(local[lane], row[i * static_cast<std::int64_t>(kLanes) + static_cast<std::int64_t>(lane)]);
        }
      }
    } else {
      for (std::int64_t i = 0; i < rounds; ++i) {
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          local[lane] = Fold::step(
              local[lane], row[(i * static_cast<std::int64_t>(kLanes) + static_cast<std::int64_t>(lane)) * stride]);
        }
      }
    }
    *to = local;
  });
}

template <class Fold, class Total>
Total join_lanes(std::array<Total, kLanes> lanes) {
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) lanes[lane] = Fold::join(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

// Folds the elements of `folded` from `start` on, element k in lane k mod kLanes.
template <class Fold, class T>
typename Fold::Total fold_one(const Source<T>& x, std::int64_t start, const Walk<1>& folded) {
  Lanes<Fold> lanes;
  lanes.fill(Fold::start());
  std::size_t k = 0;
  const auto part = [&](const T* row, std::int64_t stride, std::int64_t count) {
    std::int64_t i = 0;
    for (; k % kLanes != 0 && i < count; ++i, ++k) lanes[k % kLanes] = Fold::step(lanes[k % kLanes], row[i * stride]);
    const std::int64_t rounds = (count - i) / static_cast<std::int64_t>(kLanes);
    if (rounds > 0) fold_rounds<Fold>(lanes, row + i * stride, stride, rounds);
    for (i += rounds * static_cast<std::int64_t>(kLanes); i < count; ++i, ++k) {
      lanes[k % kLanes] = Fold::step(lanes[k % kLanes], row[i * stride]);
    }
  };
  walk_range(folded, 0, folded.numel, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
    x.read(start + at[0], folded.row_strides()[0], count, part);
  });
  return join_lanes<Fold>(lanes);
}

// The same for `count` <= kColumns adjacent results at once, so that memory is read in order.
template <class Fold, class T, class R>
void fold_columns(const Fold& fold, R* out, const Source<T>& x, std::int64_t start, std::int64_t count,
                  const Walk<1>& folded) {
  static_assert(kColumns <= kBlockElements);
  using Total = typename Fold::Total;
  std::array<std::array<Total, kColumns>, kLanes> lanes;
  // Lanes without elements are left out: they would not change the result.
  const auto used =
      static_cast<std::size_t>(std::clamp(folded.numel, std::int64_t{1}, static_cast<std::int64_t>(kLanes)));
  const auto columns = static_cast<std::size_t>(count);
  for (std::size_t lane = 0; lane < used; ++lane) std::fill_n(lanes[lane].begin(), columns, Fold::start());
  std::size_t k = 0;
  const std::int64_t stride = folded.row_strides()[0];
  walk_range(folded, 0, folded.numel, [&](const std::array<std::int64_t, 1>& at, std::int64_t rows) {
    for (std::int64_t i = 0; i < rows; ++i, ++k) {
      Total* const lane = lanes[k % kLanes].data();
      x.read(start + at[0] + i * stride, 1, count, [&](const T* row, std::int64_t, std::int64_t) {
        vectorized_for(count, [lane, row](std::int64_t j) { lane[j] = Fold::step(lane[j], row[j]); });
      });
    }
  });
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width && lane + width < used; ++lane) {
      vectorized_for(count, [to = lanes[lane].data(), from = lanes[lane + width].data()](std::int64_t j) {
        to[j] = Fold::join(to[j], from[j]);
      });
    }
  }
  for (std::size_t j = 0; j < columns; ++j) out[j] = fold.finish(lanes[0][j]);
}

template <class Fold, class T, class R>
void fold_all(const Fold& fold, R* out, const Source<T>& x, const Walk<2>& kept, const Walk<1>& folded) {
  const auto [out_stride, x_stride] = kept.row_strides();
  const bool by_columns = x_stride == 1 && out_stride == 1 && folded.row_strides()[0] != 1;
  const auto row = [&, xs = x_stride, os = out_stride](const std::array<std::int64_t, 2>& at, std::int64_t count) {
    if (by_columns) {
      for (std::int64_t j = 0; j < count; j += kColumns) {
        fold_columns(fold, out + at[0] + j, x, at[1] + j, std::min(kColumns, count - j), folded);
      }
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        out[at[0] + j * os] = fold.finish(fold_one<Fold>(x, at[1] + j * xs, folded));
      }
    }
  };
  for_each_row(kept, row, folded.numel);
}

// Returns the dtype of results before they are rounded or wrapped to the dtype of `out`.
DType dtype_of_total(ReduceOp op, DType dtype) {
  if (op == ReduceOp::max || op == ReduceOp::min) return compute_dtype(dtype);
  if (!is_floating(dtype)) return DType::i64;
  return dtype == DType::f32 ? DType::f32 : DType::f64;
}

void reduce(ReduceOp op, Tensor& out, const Tensor& x, const AxisSet& axes) {
  if (out.numel() == 0) return;
  if (const DType dtype = dtype_of_total(op, x.dtype()); dtype != out.dtype()) {
    Tensor totals = Tensor::empty(out.shape(), dtype);
    reduce(op, totals, x, axes);
    return convert_kernels.convert(out, totals);
  }
  Shape kept_shape;
  Shape folded_shape;
  Strides kept_strides;
  Strides folded_strides;
  for (int i = 0; i < x.dim(); ++i) {
    const bool folds = axes[static_cast<std::size_t>(i)];
    (folds ? folded_shape : kept_shape).push_back(x.shape()[i]);
    (folds ? folded_strides : kept_strides).push_back(x.strides()[i]);
  }
  const Strides out_strides = contiguous_strides(kept_shape);
  const auto kept = make_walk<2>(kept_shape, {&out_strides, &kept_strides});
  const auto folded = make_walk<1>(folded_shape, {&folded_strides});
  const double divisor = op == ReduceOp::mean ? static_cast<double>(folded.numel) : 1.0;
  std::byte* const to = out.mutable_bytes();
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Source<T> from{x.bytes(), x.dtype()};
    const auto fold_into = [&]<class R>(const auto& fold, std::type_identity<R>) {
      fold_all(fold, reinterpret_cast<R*>(to), from, kept, folded);
    };
    // Folds with fold_of(R), where R is the type of the result.
    const auto fold_to = [&](const auto& fold_of) {
      if constexpr (!std::is_floating_point_v<T>) {
        return fold_into(fold_of(std::type_identity<std::int64_t>{}), std::type_identity<std::int64_t>{});
      } else {
        if (out.dtype() == dtype_of<T>) return fold_into(fold_of(std::type_identity<T>{}), std::type_identity<T>{});
        return fold_into(fold_of(std::type_identity<double>{}), std::type_identity<double>{});
      }
    };
    switch (op) {
      case ReduceOp::sum:
      case ReduceOp::mean: return fold_to([&]<class R>(std::type_identity<R>) { return Sum<T, R>{divisor}; });
      case ReduceOp::prod: return fold_to([]<class R>(std::type_identity<R>) { return Product<T, R>{}; });
      case ReduceOp::max: return fold_into(Max<T>{}, std::type_identity<T>{});
      case ReduceOp::min: return fold_into(Min<T>{}, std::type_identity<T>{});
    }
  });
}

void argument_last(Extreme extreme, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const int last = x.dim() - 1;
  const std::int64_t size = x.shape()[last];
  const std::int64_t stride = x.strides()[last];
  const Tensor first = x.select(last, 0);
  const Strides out_strides = contiguous_strides(first.shape());
  const auto walk = make_walk<2>(first.shape(), {&out_strides, &first.strides()});
  std::int64_t* const to = mutable_elements<std::int64_t>(out);
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const Source<T> from{first.bytes(), x.dtype()};
    const auto row = [&](const std::array<std::int64_t, 2>& at, std::int64_t count) {
      for (std::int64_t j = 0; j < count; ++j) {
        std::int64_t best = -1;
        std::int64_t place = 0;
        T top{};
        const auto part = [&](const T* values, std::int64_t step, std::int64_t part_size) {
          for (std::int64_t i = 0; i < part_size; ++i, ++place) {
            const T value = values[i * step];
            const bool beats = extreme == Extreme::largest ? value > top : value < top;
            if (best >= 0 && (top != top || !(beats || value != value))) continue;
            best = place;
            top = value;
          }
        };
        from.read(at[1] + j * walk.row_strides()[1], stride, size, part);
        to[at[0] + j * walk.row_strides()[0]] = best;
      }
    };
    for_each_row(walk, row, size);
  });
}

}  // namespace

const kernels::ReduceKernels reduce_kernels{.reduce = reduce, .argument_last = argument_last};

}  // namespace troupe::cpu
