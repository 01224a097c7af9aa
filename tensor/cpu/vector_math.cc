#include "tensor/cpu/vector_math.h"

#include "tensor/cpu/vectorized.h"

namespace troupe::cpu {

// Each is defined in a source of its own, compiled for its instruction set.
extern const RealFunctions<float> baseline_floats, avx2_floats, avx512_floats;
extern const RealFunctions<double> baseline_doubles, avx2_doubles, avx512_doubles;

template <>
const RealFunctions<float>& real_functions<float>() noexcept {
  switch (instruction_set()) {
    case InstructionSet::avx512: return avx512_floats;
    case InstructionSet::avx2: return avx2_floats;
    default: return baseline_floats;
  }
}

template <>
const RealFunctions<double>& real_functions<double>() noexcept {
  switch (instruction_set()) {
    case InstructionSet::avx512: return avx512_doubles;
    case InstructionSet::avx2: return avx2_doubles;
    default: return baseline_doubles;
  }
}

}  // namespace troupe::cpu
