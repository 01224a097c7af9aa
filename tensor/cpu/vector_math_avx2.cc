#include <immintrin.h>
#include <sleef.h>

#include "tensor/cpu/vector_math_of_set.h"

namespace troupe::cpu {

extern const RealFunctions<float> avx2_floats;
extern const RealFunctions<double> avx2_doubles;
constinit const RealFunctions<float> avx2_floats = TROUPE_REAL_FUNCTIONS(float, __m256, finz, f8, avx2);
constinit const RealFunctions<double> avx2_doubles = TROUPE_REAL_FUNCTIONS(double, __m256d, finz, d4, avx2);

}  // namespace troupe::cpu
