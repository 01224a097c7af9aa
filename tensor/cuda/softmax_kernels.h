// The kernels of tensor/kernels/softmax.h for any launcher, see launcher.h.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/softmax.h"

namespace troupe::cuda {

using kernels::SoftmaxKind;

/// The lines along the middle of contiguous (outer, size, inner).
struct Lines {
  std::int64_t size;
  std::int64_t inner;

  /// Returns the offset of element 0 of line i.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t start(std::int64_t i) const {
    return i / inner * size * inner + i % inner;
  }
};

/// One team per line computes its largest element, the sum of the exponentials in f64, and the results.
template <class T, int lanes>
struct SoftmaxLines {
  struct Shared {
    T tops[lanes];
    double totals[lanes];
  };
  SoftmaxKind kind;
  Lines lines;
  T* out;
  const T* x;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    T* const y = out + lines.start(i);
    const T* const from = x + lines.start(i);
    const std::int64_t step = lines.inner;
    Shared& shared = team.shared;
    team.each([&](int lane) {
      T top = -std::numeric_limits<T>::infinity();
      for (std::int64_t k = lane; k < lines.size; k += lanes) top = Larger{}(top, from[k * step]);
      shared.tops[lane] = top;
    });
    join_lanes(team, shared.tops, Larger{});
    team.each([&](int lane) {
      double total = 0.0;
      for (std::int64_t k = lane; k < lines.size; k += lanes) {
        const T e = std::exp(from[k * step] - shared.tops[0]);
        if (kind == SoftmaxKind::plain) y[k * step] = e;
        total += static_cast<double>(e);
      }
      shared.totals[lane] = total;
    });
    join_lanes(team, shared.totals, Plus{});
    team.each([&](int lane) {
      const double total = shared.totals[0];
      if (kind == SoftmaxKind::plain) {
        const T scale = static_cast<T>(1.0 / total);
        for (std::int64_t k = lane; k < lines.size; k += lanes) y[k * step] *= scale;
      } else {
        const T log_total = static_cast<T>(std::log(total));
        for (std::int64_t k = lane; k < lines.size; k += lanes)
          y[k * step] = from[k * step] - shared.tops[0] - log_total;
      }
    });
  }
};

/// plain: p (g - sum(g p)); logarithm: g - exp(p) sum(g)
template <class T, int lanes>
struct SoftmaxBackwardLines {
  struct Shared {
    double totals[lanes];
  };
  SoftmaxKind kind;
  Lines lines;
  T* out;
  const T* grad;
  const T* output;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t i) const {
    const std::int64_t start = lines.start(i);
    const std::int64_t step = lines.inner;
    const T* const g = grad + start;
    const T* const p = output + start;
    const bool is_plain = kind == SoftmaxKind::plain;
    team.each([&](int lane) {
      double total = 0.0;
      for (std::int64_t k = lane; k < lines.size; k += lanes) {
        total += static_cast<double>(is_plain ? g[k * step] * p[k * step] : g[k * step]);
      }
      team.shared.totals[lane] = total;
    });
    join_lanes(team, team.shared.totals, Plus{});
    team.each([&](int lane) {
      const T sum = static_cast<T>(team.shared.totals[0]);
      for (std::int64_t k = lane; k < lines.size; k += lanes) {
        const T at = p[k * step];
        out[start + k * step] = is_plain ? at * (g[k * step] - sum) : g[k * step] - std::exp(at) * sum;
      }
    });
  }
};

template <class Launcher>
void softmax_with(const Launcher& launcher, SoftmaxKind kind, Tensor& out, const Tensor& x) {
  if (x.numel() == 0) return;
  const Place to = written(out);
  const Lines lines{x.size(1), x.size(2)};
  dispatch_floating("softmax", x.dtype(), [&]<class T>(std::type_identity<T>) {
    with_lanes(lines.size, [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(x.size(0) * x.size(2),
                                     SoftmaxLines<T, lanes>{kind, lines, address<T>(to), address<T>(read(x))});
    });
  });
}

template <class Launcher>
void softmax_backward_with(const Launcher& launcher, SoftmaxKind kind, Tensor& out, const Tensor& grad,
                           const Tensor& y) {
  if (grad.numel() == 0) return;
  const Place to = written(out);
  const Lines lines{y.size(1), y.size(2)};
  dispatch_floating("softmax_backward", y.dtype(), [&]<class T>(std::type_identity<T>) {
    with_lanes(lines.size, [&]<int lanes>(std::integral_constant<int, lanes>) {
      launcher.template teams<lanes>(
          y.size(0) * y.size(2),
          SoftmaxBackwardLines<T, lanes>{kind, lines, address<T>(to), address<T>(read(grad)), address<T>(read(y))});
    });
  });
}

}  // namespace troupe::cuda
