#include "tensor/math_threads.h"

#include <omp.h>

#include <algorithm>

namespace troupe {

// OpenMP stores this number per thread, and oneDNN uses it. OpenBLAS runs with one thread (cpu/gemm.cc).
MathThreads::MathThreads(int threads) noexcept : previous_(current()) { omp_set_num_threads(std::max(threads, 1)); }

MathThreads::~MathThreads() { omp_set_num_threads(previous_); }

int MathThreads::current() noexcept { return omp_get_max_threads(); }

}  // namespace troupe
