// The folds of cumulative results, the same on the CPU and on GPUs. A fold has a state and functions on it: none() of
// no elements, with() one more element, joined() of two adjacent stretches, and result().
#pragma once

#include <cstdint>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

/// REQUIRES: Total wraps around or is wider than T.
template <class T, class Total>
struct SumFold {
  using In = T;
  using Out = T;
  using State = Total;
  [[nodiscard]] TROUPE_HOST_DEVICE static State none() { return Total{0}; }
  [[nodiscard]] TROUPE_HOST_DEVICE static State with(State total, T x, std::int64_t /*at*/) {
    return total + static_cast<Total>(x);
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static State joined(State first, State second) { return first + second; }
  [[nodiscard]] TROUPE_HOST_DEVICE static Out result(State total) { return static_cast<T>(total); }
};

template <class T, class Total>
struct ProductFold {
  using In = T;
  using Out = T;
  using State = Total;
  [[nodiscard]] TROUPE_HOST_DEVICE static State none() { return Total{1}; }
  [[nodiscard]] TROUPE_HOST_DEVICE static State with(State total, T x, std::int64_t /*at*/) {
    return total * static_cast<Total>(x);
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static State joined(State first, State second) { return first * second; }
  [[nodiscard]] TROUPE_HOST_DEVICE static Out result(State total) { return static_cast<T>(total); }
};

/// The position of the largest (or smallest) element: the last of equal ones. NaN counts as largest and smallest.
template <class T, bool largest>
struct ExtremeFold {
  using In = T;
  using Out = std::int64_t;
  struct State {
    T value;
    std::int64_t at;  ///< -1: no element yet
  };
  [[nodiscard]] TROUPE_HOST_DEVICE static State none() { return {T{}, -1}; }
  [[nodiscard]] TROUPE_HOST_DEVICE static State with(State best, T x, std::int64_t at) {
    // `x != x` holds only for NaN.
    const bool better = best.at < 0 || x != x || (largest ? x >= best.value : x <= best.value);
    return better ? State{x, at} : best;
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static State joined(State first, State second) {
    return second.at < 0 ? first : with(first, second.value, second.at);
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static Out result(State best) { return best.at; }
};

}  // namespace troupe::kernels
