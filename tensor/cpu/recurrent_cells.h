// One step of a recurrent layer for one example, after the matrix products: the gates, and their gradients. T: float or
// double. Gates are adjacent, `size` elements each. REQUIRES: no two addresses overlap, unless a comment says so.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/reals.h"

namespace troupe::cpu {

/// vectorized_for() for loops over many addresses: the compiler does not check whether they overlap.
template <class F>
void apart_for(std::int64_t count, const F& f) {
  vectorized([ count, f ]() __attribute__((always_inline)) {
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
    for (std::int64_t j = 0; j < count; ++j) f(j);
  });
}

template <class T>
void sigmoid_each(T* x, std::int64_t count) {
  for (std::int64_t j = 0; j < count; j += kBlockElements) {
    sigmoid(x + j, x + j, std::min<std::int64_t>(kBlockElements, count - j));
  }
}
template <class T>
void tanh_each(T* out, const T* x, std::int64_t count) {
  real_functions<T>().tanh(out, x, count);
}
template <class T>
void add_each(T* x, const T* added, std::int64_t count) {
  apart_for(count, [=](std::int64_t j) { x[j] += added[j]; });
}

/// Gates i, f, g, o: cell = f * previous cell + i * g, hidden = o * tanh(cell).
template <class T>
struct LstmStep {
  std::int64_t size;
  T* gates;  ///< in: the sums; out: i, f, g, o
  const T* previous_cell;
  T* cell;
  T* tanh_cell;
  T* hidden;
};

template <class T>
void lstm_step(const LstmStep<T>& s) {
  const std::int64_t size = s.size;
  sigmoid_each(s.gates, 2 * size);
  tanh_each(s.gates + 2 * size, s.gates + 2 * size, size);
  sigmoid_each(s.gates + 3 * size, size);
  const T* const i = s.gates;
  const T* const f = i + size;
  const T* const g = f + size;
  const T* const o = g + size;
  apart_for(size, [=](std::int64_t j) { s.cell[j] = f[j] * s.previous_cell[j] + i[j] * g[j]; });
  tanh_each(s.tanh_cell, s.cell, size);
  apart_for(size, [=](std::int64_t j) { s.hidden[j] = o[j] * s.tanh_cell[j]; });
}

template <class T>
struct LstmStepBackward {
  std::int64_t size;
  const T* gates;
  const T* previous_cell;
  const T* tanh_cell;
  const T* by_hidden;
  T* by_cell;   ///< in: gradient by the cell; out: by the previous cell
  T* by_gates;  ///< out: gradient by the sums
};

template <class T>
void lstm_step_backward(const LstmStepBackward<T>& s) {
  const std::int64_t size = s.size;
  apart_for(size, [=](std::int64_t j) {
    const T i = s.gates[j];
    const T f = s.gates[size + j];
    const T g = s.gates[2 * size + j];
    const T o = s.gates[3 * size + j];
    const T t = s.tanh_cell[j];
    const T by_hidden = s.by_hidden[j];
    const T by_cell = s.by_cell[j] + by_hidden * o * (T{1} - t * t);
    s.by_gates[j] = by_cell * g * i * (T{1} - i);
    s.by_gates[size + j] = by_cell * s.previous_cell[j] * f * (T{1} - f);
    s.by_gates[2 * size + j] = by_cell * i * (T{1} - g * g);
    s.by_gates[3 * size + j] = by_hidden * t * o * (T{1} - o);
    s.by_cell[j] = by_cell * f;
  });
}

/// Gates r, z, n: n = tanh(input of n + r * candidate), hidden = (1 - z) * n + z * previous hidden.
template <class T>
struct GruStep {
  std::int64_t size;
  T* gates;                 ///< in: sums of r and z, and the input of n; out: r, z, n
  const T* from_hidden;     ///< the previous hidden state's part of r, z and n, n before r scales it
  const T* candidate_bias;  ///< bias of the hidden state's part of n; may be null
  T* candidate;             ///< out: the hidden state's part of n, with the bias
  const T* previous_hidden;
  T* hidden;
};

template <class T>
void gru_step(const GruStep<T>& s) {
  const std::int64_t size = s.size;
  T* const r = s.gates;
  T* const z = r + size;
  T* const n = z + size;
  add_each(r, s.from_hidden, 2 * size);
  sigmoid_each(r, 2 * size);
  apart_for(size, [=](std::int64_t j) { s.candidate[j] = s.from_hidden[2 * size + j]; });
  if (s.candidate_bias != nullptr) add_each(s.candidate, s.candidate_bias, size);
  apart_for(size, [=](std::int64_t j) { n[j] += r[j] * s.candidate[j]; });
  tanh_each(n, n, size);
  apart_for(size, [=](std::int64_t j) { s.hidden[j] = (T{1} - z[j]) * n[j] + z[j] * s.previous_hidden[j]; });
}

template <class T>
struct GruStepBackward {
  std::int64_t size;
  const T* gates;
  const T* candidate;
  const T* previous_hidden;
  T* by_hidden;       ///< in: gradient by hidden; out: by the previous hidden, without the part through the gates
  T* by_gates;        ///< out: gradient by the sums of r and z and the input of n
  T* by_from_hidden;  ///< out: the same for r and z; for n the gradient by the candidate
};

template <class T>
void gru_step_backward(const GruStepBackward<T>& s) {
  const std::int64_t size = s.size;
  apart_for(size, [=](std::int64_t j) {
    const T r = s.gates[j];
    const T z = s.gates[size + j];
    const T n = s.gates[2 * size + j];
    const T by_hidden = s.by_hidden[j];
    const T by_n = by_hidden * (T{1} - z) * (T{1} - n * n);
    const T by_r = by_n * s.candidate[j] * r * (T{1} - r);
    const T by_z = by_hidden * (s.previous_hidden[j] - n) * z * (T{1} - z);
    s.by_gates[j] = by_r;
    s.by_gates[size + j] = by_z;
    s.by_gates[2 * size + j] = by_n;
    s.by_from_hidden[j] = by_r;
    s.by_from_hidden[size + j] = by_z;
    s.by_from_hidden[2 * size + j] = by_n * r;
    s.by_hidden[j] = by_hidden * z;
  });
}

/// hidden = max(0, sum); NaN stays NaN.
template <class T>
void relu_each(T* out, const T* x, std::int64_t count) {
  apart_for(count, [=](std::int64_t j) { out[j] = x[j] < T{0} ? T{0} : x[j]; });
}

/// The gradients by the sums, from the gradients by the hidden state and the hidden state itself.
template <class T>
void relu_backward_each(T* by_sums, const T* by_hidden, const T* hidden, std::int64_t count) {
  apart_for(count, [=](std::int64_t j) { by_sums[j] = hidden[j] <= T{0} ? T{0} : by_hidden[j]; });
}
template <class T>
void tanh_backward_each(T* by_sums, const T* by_hidden, const T* hidden, std::int64_t count) {
  apart_for(count, [=](std::int64_t j) { by_sums[j] = by_hidden[j] * (T{1} - hidden[j] * hidden[j]); });
}

}  // namespace troupe::cpu
