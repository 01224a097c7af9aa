// What running results are made of, the same on the CPU and on GPUs. A fold has a state: of no elements, of one more
// element, of one stretch and the stretch behind it; and the result that belongs to a state.
#pragma once

#include <cstdint>

#include "tensor/kernels/host_device.h"

namespace troupe::kernels {

/// Total wraps around or is wider than T.
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

/// Where the largest (or smallest) element is: of equal ones the last; a NaN counts as both.
template <class T, bool largest>
struct ExtremeFold {
  using In = T;
  using Out = std::int64_t;
  struct State {
    T value;
    std::int64_t at;  ///< -1: nowhere
  };
  [[nodiscard]] TROUPE_HOST_DEVICE static State none() { return {T{}, -1}; }
  [[nodiscard]] TROUPE_HOST_DEVICE static State with(State best, T x, std::int64_t at) {
    // `x != x` holds for NaN only.
    const bool better = best.at < 0 || x != x || (largest ? x >= best.value : x <= best.value);
    return better ? State{x, at} : best;
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static State joined(State first, State second) {
    return second.at < 0 ? first : with(first, second.value, second.at);
  }
  [[nodiscard]] TROUPE_HOST_DEVICE static Out result(State best) { return best.at; }
};

}  // namespace troupe::kernels
