// The kernels of tensor/kernels/scan.h for any launcher, see launcher.h.
#pragma once

#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/kernels/scan.h"
#include "tensor/kernels/scan_folds.h"

namespace troupe::cuda {

using kernels::Direction;

/// The lines of (outer, size, inner) along the middle dimension, from either end.
struct ScanLines {
  std::int64_t size;
  std::int64_t inner;
  Direction direction;

  /// Returns the offset of element k of line i.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t at(std::int64_t i, std::int64_t k) const {
    const std::int64_t row = direction == Direction::forward ? k : size - 1 - k;
    return (i / inner * size + row) * inner + i % inner;
  }
};

/// One thread per line.
template <class Fold>
struct FoldLines {
  ScanLines lines;
  typename Fold::Out* out;
  const typename Fold::In* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    auto state = Fold::none();
    for (std::int64_t k = 0; k < lines.size; ++k) {
      state = Fold::with(state, x[lines.at(i, k)], k);
      out[lines.at(i, k)] = Fold::result(state);
    }
  }
};

/// One team per line: each lane folds a stretch of it, then folds it again from the joined state of the stretches
/// before.
template <class Fold>
struct FoldLongLines {
  static constexpr int kLanes = 256;
  struct Shared {
    typename Fold::State states[kLanes];
  };
  ScanLines lines;
  typename Fold::Out* out;
  const typename Fold::In* x;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::int64_t stretch = (lines.size + kLanes - 1) / kLanes;
    team.each([&](int lane) {
      auto state = Fold::none();
      for (std::int64_t k = lane * stretch; k < (lane + 1) * stretch && k < lines.size; ++k)
        state = Fold::with(state, x[lines.at(i, k)], k);
      team.shared.states[lane] = state;
    });
    team.each([&](int lane) {
      if (lane != 0) return;
      auto before = Fold::none();
      for (auto& state : team.shared.states) {
        const auto with = Fold::joined(before, state);
        state = before;
        before = with;
      }
    });
    team.each([&](int lane) {
      auto state = team.shared.states[lane];
      for (std::int64_t k = lane * stretch; k < (lane + 1) * stretch && k < lines.size; ++k) {
        state = Fold::with(state, x[lines.at(i, k)], k);
        out[lines.at(i, k)] = Fold::result(state);
      }
    });
  }
};

template <class Fold, class Launcher>
void fold_lines_with(const Launcher& launcher, Tensor& out, const Tensor& x, Direction direction) {
  constexpr std::int64_t kLongLine = 512;
  constexpr std::int64_t kManyLines = 1 << 14;
  const ScanLines lines{x.size(1), x.size(2), direction};
  const std::int64_t count = x.size(0) * x.size(2);
  auto* const to = address<typename Fold::Out>(written(out));
  const auto* const from = address<typename Fold::In>(read(x));
  if (lines.size < kLongLine || count > kManyLines) launcher.each(count, FoldLines<Fold>{lines, to, from});
  else launcher.template teams<256>(count, FoldLongLines<Fold>{lines, to, from});
}

template <template <class, class> class Fold, class Launcher>
void fold_numbers_with(const Launcher& launcher, Tensor& out, const Tensor& x, Direction direction) {
  if (x.numel() == 0) return;
  if (x.dtype() == DType::i64) return fold_lines_with<Fold<std::int64_t, std::uint64_t>>(launcher, out, x, direction);
  if (x.dtype() == DType::f32) return fold_lines_with<Fold<float, double>>(launcher, out, x, direction);
  fold_lines_with<Fold<double, double>>(launcher, out, x, direction);
}

template <class Launcher>
void cumsum_with(const Launcher& launcher, Tensor& out, const Tensor& x, Direction direction) {
  fold_numbers_with<kernels::SumFold>(launcher, out, x, direction);
}

template <class Launcher>
void cumprod_with(const Launcher& launcher, Tensor& out, const Tensor& x) {
  fold_numbers_with<kernels::ProductFold>(launcher, out, x, Direction::forward);
}

template <class Launcher>
void cumulative_argument_with(const Launcher& launcher, kernels::Extreme extreme, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if (extreme == kernels::Extreme::largest)
      fold_lines_with<kernels::ExtremeFold<T, true>>(launcher, out, x, Direction::forward);
    else fold_lines_with<kernels::ExtremeFold<T, false>>(launcher, out, x, Direction::forward);
  });
}

}  // namespace troupe::cuda
