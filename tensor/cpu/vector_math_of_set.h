// RealFunctions made of SLEEF's functions for one instruction set, for sources compiled for that set. Code here must
// not have linkage or call code that has: the linker could use it on processors without these instructions.
#pragma once

#include <cstring>

#include "tensor/cpu/vector_math.h"

namespace troupe::cpu {
namespace {

template <class T, class Vector, auto f>
void map(T* out, const T* x, std::int64_t count) {
  constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(T);
  Vector vector;
  for (; count >= kLanes; count -= kLanes, out += kLanes, x += kLanes) {
    std::memcpy(&vector, x, sizeof vector);
    vector = f(vector);
    std::memcpy(out, &vector, sizeof vector);
  }
  if (count == 0) return;
  const std::size_t rest = static_cast<std::size_t>(count) * sizeof(T);
  vector = Vector{};
  std::memcpy(&vector, x, rest);
  vector = f(vector);
  std::memcpy(out, &vector, rest);
}

template <class T, class Vector, auto f>
void map_pairs(T* out, const T* a, const T* b, std::int64_t count) {
  constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(T);
  Vector left{};
  Vector right{};
  for (std::size_t size = sizeof(Vector); count > 0; count -= kLanes, out += kLanes, a += kLanes, b += kLanes) {
    if (count < kLanes) size = static_cast<std::size_t>(count) * sizeof(T);
    std::memcpy(&left, a, size);
    std::memcpy(&right, b, size);
    left = f(left, right);
    std::memcpy(out, &left, size);
  }
}

}  // namespace
}  // namespace troupe::cpu

/// RealFunctions<T> of the functions Sleef_<kind>_<name><lanes>_<bound><set>.
#define TROUPE_REAL_FUNCTIONS(T, Vector, kind, lanes, set)                 \
  RealFunctions<T> {                                                       \
    .exp = map<T, Vector, Sleef_##kind##_exp##lanes##_u10##set>,           \
    .expm1 = map<T, Vector, Sleef_##kind##_expm1##lanes##_u10##set>,       \
    .exp2 = map<T, Vector, Sleef_##kind##_exp2##lanes##_u10##set>,         \
    .log = map<T, Vector, Sleef_##kind##_log##lanes##_u10##set>,           \
    .log1p = map<T, Vector, Sleef_##kind##_log1p##lanes##_u10##set>,       \
    .log2 = map<T, Vector, Sleef_##kind##_log2##lanes##_u10##set>,         \
    .log10 = map<T, Vector, Sleef_##kind##_log10##lanes##_u10##set>,       \
    .sin = map<T, Vector, Sleef_##kind##_sin##lanes##_u10##set>,           \
    .cos = map<T, Vector, Sleef_##kind##_cos##lanes##_u10##set>,           \
    .tan = map<T, Vector, Sleef_##kind##_tan##lanes##_u10##set>,           \
    .asin = map<T, Vector, Sleef_##kind##_asin##lanes##_u10##set>,         \
    .acos = map<T, Vector, Sleef_##kind##_acos##lanes##_u10##set>,         \
    .atan = map<T, Vector, Sleef_##kind##_atan##lanes##_u10##set>,         \
    .tanh = map<T, Vector, Sleef_##kind##_tanh##lanes##_u10##set>,         \
    .atanh = map<T, Vector, Sleef_##kind##_atanh##lanes##_u10##set>,       \
    .erf = map<T, Vector, Sleef_##kind##_erf##lanes##_u10##set>,           \
    .erfc = map<T, Vector, Sleef_##kind##_erfc##lanes##_u15##set>,         \
    .sinh = map<T, Vector, Sleef_##kind##_sinh##lanes##_u10##set>,         \
    .cosh = map<T, Vector, Sleef_##kind##_cosh##lanes##_u10##set>,         \
    .asinh = map<T, Vector, Sleef_##kind##_asinh##lanes##_u10##set>,       \
    .acosh = map<T, Vector, Sleef_##kind##_acosh##lanes##_u10##set>,       \
    .pow = map_pairs<T, Vector, Sleef_##kind##_pow##lanes##_u10##set>,     \
    .atan2 = map_pairs<T, Vector, Sleef_##kind##_atan2##lanes##_u10##set>, \
    .hypot = map_pairs<T, Vector, Sleef_##kind##_hypot##lanes##_u05##set>, \
    .fmod = map_pairs<T, Vector, Sleef_##kind##_fmod##lanes##_##set>       \
  }
