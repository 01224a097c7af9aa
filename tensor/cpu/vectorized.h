// Loops compiled for several instruction sets; the one of the present processor is chosen at run time.
//
// Products and sums are never fused (tensor/CMakeLists.txt), so a loop gives the same bits with every instruction set,
// unless it leaves the order of a sum to the compiler.
#pragma once

#include <cstdint>

namespace troupe::cpu {

enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// Returns the best instruction set of this processor, limited by TROUPE_MAX_CPU_ISA (baseline, avx2 or avx512) as it
/// was at the first call, which writes a warning to standard error if it is another word.
[[nodiscard]] InstructionSet instruction_set() noexcept;

#if defined(__x86_64__)
#define TROUPE_AVX2 "avx2"
#define TROUPE_AVX512 "avx512f,avx512bw,avx512dq,avx512vl"

template <class Loop>
[[gnu::target(TROUPE_AVX2)]] void with_avx2(Loop loop) {
  loop();
}
template <class Loop>
[[gnu::target(TROUPE_AVX512)]] void with_avx512(Loop loop) {
  loop();
}

/// Calls `loop` compiled for instruction_set(). REQUIRES: `loop` is `always_inline`. The functions it calls should be
/// too: the compiler compiles for the baseline whatever it does not inline. `loop` should hold numbers by value: the
/// compiler must assume that the loop writes numbers behind a reference, and then cannot vectorize.
template <class Loop>
void vectorized(const Loop& loop) {
  switch (instruction_set()) {
    case InstructionSet::avx512: return with_avx512(loop);
    case InstructionSet::avx2: return with_avx2(loop);
    default: loop();
  }
}
#else
template <class Loop>
void vectorized(const Loop& loop) {
  loop();
}
#endif

/// Calls f(i) for i = 0 ... count - 1, in vectors. REQUIRES: the calls do not depend on each other. `f` should hold
/// numbers by value, as for vectorized().
template <class F>
void vectorized_for(std::int64_t count, const F& f) {
  vectorized([ count, f ]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
  });
}

}  // namespace troupe::cpu
