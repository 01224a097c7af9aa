// The kernels of tensor/kernels/reduce.h for any launcher, see launcher.h.
//
// Each result is folded in parts: with one part in one pass, else in two, the second over the parts' totals. The lane
// of an element and the number of parts depend only on sizes and layout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/reduce.h"

namespace troupe::cuda {

using kernels::AxisSet;
using kernels::Extreme;
using kernels::ReduceOp;

/// Sums of floating elements run in f64; those of integers wrap around in 64 bits.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <class T>
struct SumFold {
  using Total = Wide<T>;
  double divisor = 1.0;
  static TROUPE_HOST_DEVICE Total start() { return Total{0}; }
  static TROUPE_HOST_DEVICE Total of(T value) { return static_cast<Total>(value); }
  static TROUPE_HOST_DEVICE Total join(Total a, Total b) { return a + b; }
  [[nodiscard]] TROUPE_HOST_DEVICE auto finish(Total total) const {
    if constexpr (std::is_floating_point_v<T>) return total / divisor;
    else return static_cast<std::int64_t>(total);
  }
};

template <class T>
struct ProductFold {
  using Total = Wide<T>;
  static TROUPE_HOST_DEVICE Total start() { return Total{1}; }
  static TROUPE_HOST_DEVICE Total of(T value) { return static_cast<Total>(value); }
  static TROUPE_HOST_DEVICE Total join(Total a, Total b) { return a * b; }
  [[nodiscard]] TROUPE_HOST_DEVICE auto finish(Total total) const {
    if constexpr (std::is_floating_point_v<T>) return total;
    else return static_cast<std::int64_t>(total);
  }
};

// `b != b` holds only for NaN. NaN stays: no comparison with it is true.
template <class T>
struct MaxFold {
  using Total = T;
  using Limits = std::numeric_limits<T>;
  static TROUPE_HOST_DEVICE T start() { return Limits::has_infinity ? -Limits::infinity() : Limits::lowest(); }
  static TROUPE_HOST_DEVICE T of(T value) { return value; }
  static TROUPE_HOST_DEVICE T join(T a, T b) { return b > a || b != b ? b : a; }
  [[nodiscard]] TROUPE_HOST_DEVICE T finish(T total) const { return total; }
};

template <class T>
struct MinFold {
  using Total = T;
  using Limits = std::numeric_limits<T>;
  static TROUPE_HOST_DEVICE T start() { return Limits::has_infinity ? Limits::infinity() : Limits::max(); }
  static TROUPE_HOST_DEVICE T of(T value) { return value; }
  static TROUPE_HOST_DEVICE T join(T a, T b) { return b < a || b != b ? b : a; }
  [[nodiscard]] TROUPE_HOST_DEVICE T finish(T total) const { return total; }
};

/// The target: the totals of the parts, or the results if there is only one part. Part p of result j is at p * results
/// + j.
template <class Fold>
struct Totals {
  Fold fold;
  Place out;                     ///< contiguous
  typename Fold::Total* totals;  ///< null if there is only one part

  TROUPE_HOST_DEVICE void put(std::int64_t at, typename Fold::Total total) const {
    if (totals != nullptr) totals[at] = total;
    else store_converted(out.from(at), 0, fold.finish(total));
  }
};

/// The elements of each part: [chunk * p, chunk * (p + 1)) of `folded` for part p of each result in `kept`.
template <class Fold, class T>
struct Parts {
  Strided<2> kept;  ///< offsets in the results, and in `x`
  Strided<1> folded;
  Place x;
  std::uint32_t chunk;
  Totals<Fold> to;
  std::int64_t first;    ///< place in `to` of result 0 of part 0
  std::int64_t results;  ///< number of results of the whole reduction
};

/// Joins the lanes' elements of `totals` pairwise. All lanes see the result in totals[0].
template <class Fold, class Team>
TROUPE_HOST_DEVICE void join_lanes(const Team& team, typename Fold::Total* totals) {
  for (int width = Team::kLanes / 2; width > 0; width /= 2) {
    team.each([&](int lane) {
      if (lane < width) totals[lane] = Fold::join(totals[lane], totals[lane + width]);
    });
  }
}

/// Folds elements `from`, from + step, ... below `end` of the folded dimensions of the result at `at`. Several are read
/// before the first is joined, so that more reads are in flight.
template <class Fold, class T>
TROUPE_HOST_DEVICE typename Fold::Total folded(const Parts<Fold, T>& parts, std::uint32_t at, std::uint32_t from,
                                               std::uint32_t end, std::uint32_t step) {
  constexpr std::uint32_t kReads = 8;
  typename Fold::Total total = Fold::start();
  std::uint32_t k = from;
  for (; k < end && (end - k - 1) / step >= kReads - 1; k += kReads * step) {
    T values[kReads];
    for (std::uint32_t n = 0; n < kReads; ++n) values[n] = load<T>(parts.x, at + parts.folded.offsets(k + n * step)[0]);
    for (const T value : values) total = Fold::join(total, Fold::of(value));
  }
  for (; k < end; k += step) total = Fold::join(total, Fold::of(load<T>(parts.x, at + parts.folded.offsets(k)[0])));
  return total;
}

/// One team per result and part: adjacent lanes read adjacent elements of the folded dimensions.
template <class Fold, class T, int lanes>
struct FoldRows {
  using Total = typename Fold::Total;
  struct Shared {
    Total totals[lanes];
  };
  Parts<Fold, T> parts;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const auto result = static_cast<std::uint32_t>(i % parts.kept.numel);
    const std::int64_t part = i / parts.kept.numel;
    const std::uint32_t place = parts.kept.offsets(result)[0];
    const std::uint32_t at = parts.kept.offsets(result)[1];
    const auto begin = static_cast<std::uint32_t>(part) * parts.chunk;
    const std::uint32_t end = parts.folded.numel - begin < parts.chunk ? parts.folded.numel : begin + parts.chunk;
    team.each([&](int lane) {
      team.shared.totals[lane] = folded(parts, at, begin + static_cast<std::uint32_t>(lane), end, lanes);
    });
    join_lanes<Fold>(team, team.shared.totals);
    team.each([&](int lane) {
      if (lane == 0) parts.to.put(parts.first + part * parts.results + place, team.shared.totals[0]);
    });
  }
};

/// One thread per result and part: adjacent threads read adjacent results.
template <class Fold, class T>
struct FoldColumns {
  Parts<Fold, T> parts;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto result = static_cast<std::uint32_t>(i % parts.kept.numel);
    const std::int64_t part = i / parts.kept.numel;
    const std::uint32_t place = parts.kept.offsets(result)[0];
    const std::uint32_t at = parts.kept.offsets(result)[1];
    const auto begin = static_cast<std::uint32_t>(part) * parts.chunk;
    const std::uint32_t end = parts.folded.numel - begin < parts.chunk ? parts.folded.numel : begin + parts.chunk;
    parts.to.put(parts.first + part * parts.results + place, folded(parts, at, begin, end, 1));
  }
};

/// One team per result joins the totals of its parts: part p in lane p mod 32.
template <class Fold>
struct JoinParts {
  static constexpr int kLanes = 32;
  using Total = typename Fold::Total;
  struct Shared {
    Total totals[kLanes];
  };
  Totals<Fold> to;
  std::int64_t parts;
  std::int64_t results;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t j) const {
    team.each([&](int lane) {
      Total total = Fold::start();
      for (std::int64_t p = lane; p < parts; p += kLanes) total = Fold::join(total, to.totals[p * results + j]);
      team.shared.totals[lane] = total;
    });
    join_lanes<Fold>(team, team.shared.totals);
    team.each([&](int lane) {
      if (lane == 0) store_converted(to.out.from(j), 0, to.fold.finish(team.shared.totals[0]));
    });
  }
};

/// How a reduction is split: enough parts for every multiprocessor, but none so small that joining it costs more than
/// folding it.
struct ReducePlan {
  bool by_columns;
  std::uint32_t chunk;  ///< elements of a part, above 0
};

inline ReducePlan plan_reduce(const kernels::Walk<1>& kept, std::int64_t folded, std::int64_t folded_stride) {
  constexpr std::int64_t kThreads = 1 << 17;
  constexpr std::int64_t kTeams = 1 << 10;
  constexpr std::int64_t kColumnChunk = 32;
  constexpr std::int64_t kRowChunk = 1 << 12;
  const bool by_columns = folded < 32 || (kept.numel >= 32 && kept.row_strides()[0] == 1 && folded_stride != 1);
  const std::int64_t wanted = by_columns ? kThreads : kTeams;
  const std::int64_t parts = std::clamp((wanted + kept.numel - 1) / kept.numel, std::int64_t{1}, std::int64_t{1024});
  const std::int64_t chunk = std::max((folded + parts - 1) / parts, by_columns ? kColumnChunk : kRowChunk);
  return {by_columns, static_cast<std::uint32_t>(std::min(chunk, kSmallWalk - 1))};
}

template <class T, class Fold, class Launcher>
void fold_with(const Launcher& launcher, const Fold& fold, Tensor& out, const Tensor& x, const kernels::Walk<1>& kept,
               const kernels::Walk<1>& folded) {
  using Total = typename Fold::Total;
  static_assert(sizeof(Total) == 4 || sizeof(Total) == 8);
  const ReducePlan plan = plan_reduce(kept, folded.numel, folded.row_strides()[0]);
  struct Stretch {
    Strided<1> walk;
    std::int64_t start;
    std::int64_t parts;
  };
  std::vector<Stretch> stretches;
  std::int64_t parts = 0;
  if (folded.numel == 0) {
    stretches.push_back({Strided<1>(folded), 0, parts = 1});
  } else {
    for_each_small(folded, [&](const Strided<1>& walk, const std::array<std::int64_t, 1>& start) {
      stretches.push_back({walk, start[0], (std::int64_t{walk.numel} + plan.chunk - 1) / plan.chunk});
      parts += stretches.back().parts;
    });
  }
  const Place to = written(out);
  const Place from = read(x);
  Tensor room;
  Totals<Fold> totals{fold, to, nullptr};
  if (parts > 1) {
    room = Tensor::empty({parts * kept.numel}, sizeof(Total) == 4 ? DType::i32 : DType::i64, out.device());
    totals.totals = address<Total>(written(room));
  }
  kernels::Walk<2> results;  // offsets in the results, and in `x`
  results.rank = kept.rank;
  results.numel = kept.numel;
  std::int64_t step = 1;
  for (auto d = static_cast<std::size_t>(kept.rank); d-- > 0; step *= kept.sizes[d]) {
    results.sizes[d] = kept.sizes[d];
    results.strides[d] = {step, kept.strides[d][0]};
  }
  for_each_small(results, [&](const Strided<2>& some, const std::array<std::int64_t, 2>& at) {
    std::int64_t part = 0;
    for (const Stretch& stretch : stretches) {
      const Parts<Fold, T> cut{some,       stretch.walk, from.from(at[1] + stretch.start),
                               plan.chunk, totals,       part * kept.numel + at[0],
                               kept.numel};
      const std::int64_t count = stretch.parts * some.numel;
      if (plan.by_columns) launcher.each(count, FoldColumns<Fold, T>{cut});
      else if (folded.numel < 512) launcher.template teams<32>(count, FoldRows<Fold, T, 32>{cut});
      else launcher.template teams<256>(count, FoldRows<Fold, T, 256>{cut});
      part += stretch.parts;
    }
  });
  if (parts > 1)
    launcher.template teams<JoinParts<Fold>::kLanes>(kept.numel, JoinParts<Fold>{totals, parts, kept.numel});
}

template <class Launcher>
void reduce_with(const Launcher& launcher, ReduceOp op, Tensor& out, const Tensor& x, const AxisSet& axes) {
  if (out.numel() == 0) return;
  Shape kept_shape;
  Shape folded_shape;
  Strides kept_strides;
  Strides folded_strides;
  for (int i = 0; i < x.dim(); ++i) {
    const bool folds = axes[static_cast<std::size_t>(i)];
    (folds ? folded_shape : kept_shape).push_back(x.shape()[i]);
    (folds ? folded_strides : kept_strides).push_back(x.strides()[i]);
  }
  const auto kept = kernels::make_walk<1>(kept_shape, {&kept_strides});
  const auto folded = kernels::make_walk<1>(folded_shape, {&folded_strides});
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const auto with = [&](const auto& fold) { fold_with<T>(launcher, fold, out, x, kept, folded); };
    switch (op) {
      case ReduceOp::sum: return with(SumFold<T>{});
      case ReduceOp::mean: return with(SumFold<T>{static_cast<double>(folded.numel)});
      case ReduceOp::prod: return with(ProductFold<T>{});
      case ReduceOp::max: return with(MaxFold<T>{});
      case ReduceOp::min: return with(MinFold<T>{});
    }
  });
}

}  // namespace troupe::cuda
