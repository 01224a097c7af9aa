// One step forward of each cell of tensor/kernels/recurrent.h, for any launcher, see launcher.h.
//
// One thread computes one hidden unit of one example. A null address stands for zeros.
#pragma once

#include <cmath>
#include <cstdint>

#include "tensor/cuda/activation_formulas.h"
#include "tensor/cuda/formulas.h"

namespace troupe::cuda {

/// The layout of gates: element i is hidden unit i % size of example i / size, and gate `number` of it is at `gate(i,
/// number)`.
struct GateLayout {
  std::int64_t size;
  std::int64_t count;

  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t gate(std::int64_t i, std::int64_t number) const {
    return i / size * size * count + number * size + i % size;
  }
  /// Returns the same for a bias, which all examples share.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t bias(std::int64_t i, std::int64_t number) const {
    return number * size + i % size;
  }
};

template <class T>
TROUPE_HOST_DEVICE inline T or_zero(const T* x, std::int64_t i) {
  return x == nullptr ? T{0} : x[i];
}

/// One forward step of a layer. Members that its cell does not have are null.
template <class T>
struct StepForward {
  GateLayout layout;
  T* gates;              ///< in: the input's part of the sums; out: the gates, of plain cells the sums
  const T* from_hidden;  ///< the previous hidden state's part of the sums
  const T* bias;
  const T* candidate_bias;
  const T* previous_hidden;
  const T* previous_cell;
  T* cell;
  T* tanh_cell;
  T* candidate;
  T* hidden;

  /// Returns the sum of gate `number` before its activation.
  [[nodiscard]] TROUPE_HOST_DEVICE T sum(std::int64_t i, std::int64_t number) const {
    const std::int64_t at = layout.gate(i, number);
    return gates[at] + or_zero(from_hidden, at) + or_zero(bias, layout.bias(i, number));
  }
};

/// Gates i, f, g, o: cell = f * previous cell + i * g, hidden = o * tanh(cell).
template <class T>
struct LstmForward {
  StepForward<T> s;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const T i = Sigmoid{}(s.sum(at, 0));
    const T f = Sigmoid{}(s.sum(at, 1));
    const T g = std::tanh(s.sum(at, 2));
    const T o = Sigmoid{}(s.sum(at, 3));
    const T cell = f * or_zero(s.previous_cell, at) + i * g;
    const T tanh_cell = std::tanh(cell);
    s.gates[s.layout.gate(at, 0)] = i;
    s.gates[s.layout.gate(at, 1)] = f;
    s.gates[s.layout.gate(at, 2)] = g;
    s.gates[s.layout.gate(at, 3)] = o;
    s.cell[at] = cell;
    s.tanh_cell[at] = tanh_cell;
    s.hidden[at] = o * tanh_cell;
  }
};

/// Gates r, z, n: n = tanh(input of n + r * candidate), hidden = (1 - z) * n + z * previous hidden.
template <class T>
struct GruForward {
  StepForward<T> s;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const std::int64_t at_n = s.layout.gate(at, 2);
    const T r = Sigmoid{}(s.sum(at, 0));
    const T z = Sigmoid{}(s.sum(at, 1));
    const T candidate = or_zero(s.from_hidden, at_n) + or_zero(s.candidate_bias, at % s.layout.size);
    const T n = std::tanh(s.gates[at_n] + or_zero(s.bias, s.layout.bias(at, 2)) + r * candidate);
    s.gates[s.layout.gate(at, 0)] = r;
    s.gates[s.layout.gate(at, 1)] = z;
    s.gates[at_n] = n;
    s.candidate[at] = candidate;
    s.hidden[at] = (T{1} - z) * n + z * or_zero(s.previous_hidden, at);
  }
};

/// hidden = tanh(sum), or max(0, sum).
template <class T>
struct PlainForward {
  StepForward<T> s;
  bool is_relu;

  TROUPE_HOST_DEVICE void operator()(std::int64_t at) const {
    const T sum = s.sum(at, 0);
    s.gates[at] = sum;
    s.hidden[at] = is_relu ? Relu{}(sum) : std::tanh(sum);
  }
};

}  // namespace troupe::cuda
