// The kernel of argument_last (reduce.h) for any launcher, see launcher.h.
#pragma once

#include <cstdint>

#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/reduce.h"

namespace troupe::cuda {

using kernels::Extreme;

/// An element and its position in its row.
template <class T>
struct Candidate {
  T value;
  std::int64_t place;  ///< negative: no element

  /// Returns whether this candidate precedes `other`: NaN precedes all numbers; of equal candidates the first does.
  [[nodiscard]] TROUPE_HOST_DEVICE bool beats(const Candidate& other, Extreme extreme) const {
    if (place < 0 || other.place < 0) return other.place < 0;
    const bool is_nan = value != value;
    const bool other_is_nan = other.value != other.value;
    if (is_nan || other_is_nan) return is_nan && (!other_is_nan || place < other.place);
    if (value == other.value) return place < other.place;
    return extreme == Extreme::largest ? value > other.value : value < other.value;
  }
};

/// One team per row of `size` elements, `stride` apart.
template <class T, int lanes>
struct ArgumentRows {
  struct Shared {
    Candidate<T> best[lanes];
  };
  Extreme extreme;
  Strided<2> rows;  ///< offsets of the rows in `out` and in `x`
  Place out;
  Place x;
  std::int64_t size;
  std::int64_t stride;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::uint32_t to = rows.offsets(static_cast<std::uint32_t>(i))[0];
    const Place row = x.from(rows.offsets(static_cast<std::uint32_t>(i))[1]);
    team.each([&](int lane) {
      Candidate<T> best{T{}, -1};
      for (std::int64_t k = lane; k < size; k += lanes) {
        const Candidate<T> next{load<T>(row.from(k * stride), 0), k};
        if (next.beats(best, extreme)) best = next;
      }
      team.shared.best[lane] = best;
    });
    for (int width = lanes / 2; width > 0; width /= 2) {
      team.each([&](int lane) {
        Candidate<T>* const best = team.shared.best;
        if (lane < width && best[lane + width].beats(best[lane], extreme)) best[lane] = best[lane + width];
      });
    }
    team.each([&](int lane) {
      if (lane == 0) element<std::int64_t>(out, to) = team.shared.best[0].place;
    });
  }
};

template <class Launcher>
void argument_last_with(const Launcher& launcher, Extreme extreme, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const int last = x.dim() - 1;
  const std::int64_t size = x.shape()[last];
  const std::int64_t stride = x.strides()[last];
  const Tensor first = x.select(last, 0);
  const Strides out_strides = contiguous_strides(first.shape());
  const Place to = written(out);
  const Place from = read(first);
  for_each_small(
      kernels::make_walk<2>(first.shape(), {&out_strides, &first.strides()}), [&](const auto& rows, const auto& at) {
        dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
          if (size < 512) {
            launcher.template teams<32>(
                rows.numel, ArgumentRows<T, 32>{extreme, rows, to.from(at[0]), from.from(at[1]), size, stride});
          } else {
            launcher.template teams<256>(
                rows.numel, ArgumentRows<T, 256>{extreme, rows, to.from(at[0]), from.from(at[1]), size, stride});
          }
        });
      });
}

}  // namespace troupe::cuda
