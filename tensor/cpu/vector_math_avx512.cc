#include <immintrin.h>
#include <sleef.h>

#include "tensor/cpu/vector_math_of_set.h"

namespace troupe::cpu {

extern const RealFunctions<float> avx512_floats;
extern const RealFunctions<double> avx512_doubles;
constinit const RealFunctions<float> avx512_floats = TROUPE_REAL_FUNCTIONS(float, __m512, finz, f16, avx512f);
constinit const RealFunctions<double> avx512_doubles = TROUPE_REAL_FUNCTIONS(double, __m512d, finz, d8, avx512f);

}  // namespace troupe::cpu
