// The kernels of scan.h for any launcher, see launcher.h.
#pragma once

#include <cstdint>

#include "tensor/cpu/scan.h"
#include "tensor/cuda/place.h"

namespace troupe::cuda {

using cpu::Direction;

/// Elements of (outer, size, inner) along the middle, from either end.
struct ScanLines {
  std::int64_t size;
  std::int64_t inner;
  Direction direction;

  /// Where element k of line i is.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t at(std::int64_t i, std::int64_t k) const {
    const std::int64_t row = direction == Direction::forward ? k : size - 1 - k;
    return (i / inner * size + row) * inner + i % inner;
  }
};

/// A thread for each line. Total wraps around or is wider than T.
template <class T, class Total>
struct SumLines {
  ScanLines lines;
  T* out;
  const T* x;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    Total total{0};
    for (std::int64_t k = 0; k < lines.size; ++k) {
      total += static_cast<Total>(x[lines.at(i, k)]);
      out[lines.at(i, k)] = static_cast<T>(total);
    }
  }
};

/// A team for each line: each lane sums a stretch of it, then goes over it again from the sum of those before.
template <class T, class Total>
struct SumLongLines {
  static constexpr int kLanes = 256;
  struct Shared {
    Total sums[kLanes];
  };
  ScanLines lines;
  T* out;
  const T* x;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::int64_t stretch = (lines.size + kLanes - 1) / kLanes;
    team.each([&](int lane) {
      Total total{0};
      for (std::int64_t k = lane * stretch; k < (lane + 1) * stretch && k < lines.size; ++k) total += static_cast<Total>(x[lines.at(i, k)]);
      team.shared.sums[lane] = total;
    });
    team.each([&](int lane) {
      if (lane != 0) return;
      Total before{0};
      for (Total& sum : team.shared.sums) {
        const Total with = before + sum;
        sum = before;
        before = with;
      }
    });
    team.each([&](int lane) {
      Total total = team.shared.sums[lane];
      for (std::int64_t k = lane * stretch; k < (lane + 1) * stretch && k < lines.size; ++k) {
        total += static_cast<Total>(x[lines.at(i, k)]);
        out[lines.at(i, k)] = static_cast<T>(total);
      }
    });
  }
};

template <class Launcher>
void cumsum_with(const Launcher& launcher, Tensor& out, const Tensor& x, Direction direction) {
  if (x.numel() == 0) return;
  constexpr std::int64_t kLongLine = 512;
  constexpr std::int64_t kManyLines = 1 << 14;
  const ScanLines lines{x.size(1), x.size(2), direction};
  const std::int64_t count = x.size(0) * x.size(2);
  const Place to = written(out);
  const auto sum = [&]<class T, class Total>(std::type_identity<T>, std::type_identity<Total>) {
    T* const o = address<T>(to);
    const T* const from = address<T>(read(x));
    if (lines.size < kLongLine || count > kManyLines) launcher.each(count, SumLines<T, Total>{lines, o, from});
    else launcher.template teams<256>(count, SumLongLines<T, Total>{lines, o, from});
  };
  if (x.dtype() == DType::i64) return sum(std::type_identity<std::int64_t>{}, std::type_identity<std::uint64_t>{});
  if (x.dtype() == DType::f32) return sum(std::type_identity<float>{}, std::type_identity<double>{});
  sum(std::type_identity<double>{}, std::type_identity<double>{});
}

}  // namespace troupe::cuda
