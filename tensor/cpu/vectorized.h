// Loops compiled for the vector instructions of several processors, of which the present one's are chosen at run time.
//
// Products and sums are never fused (tensor/CMakeLists.txt), so a loop gives the same bits with all of them as long as
// it does not leave the order of a sum to the compiler.
#pragma once

#include <cstdint>

namespace troupe::cpu {

enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };

/// The best that this processor has, but none above what TROUPE_MAX_CPU_ISA (baseline, avx2 or avx512) said when it was
/// asked for the first time.
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

/// Calls `loop` compiled for instruction_set(). It must be `always_inline`, as what it calls should be: what the
/// compiler does not inline is compiled for the baseline. It should hold numbers by value: those behind a reference
/// might be written by the loop, for all that the compiler knows, and then nothing becomes a vector.
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

/// Calls f(i) for i = 0 ... count - 1, in vectors. The calls must not depend on each other.
/// As for vectorized(), `f` should hold numbers by value.
template <class F>
void vectorized_for(std::int64_t count, const F& f) {
  vectorized([ count, f ]() __attribute__((always_inline)) {
    for (std::int64_t i = 0; i < count; ++i) f(i);
  });
}

}  // namespace troupe::cpu
