#include <immintrin.h>
#include <sleef.h>

#include "tensor/cpu/vector_math_of_set.h"

namespace troupe::cpu {

extern const RealFunctions<float> baseline_floats;
extern const RealFunctions<double> baseline_doubles;
constinit const RealFunctions<float> baseline_floats = TROUPE_REAL_FUNCTIONS(float, __m128, cinz, f4, sse2);
constinit const RealFunctions<double> baseline_doubles = TROUPE_REAL_FUNCTIONS(double, __m128d, cinz, d2, sse2);

}  // namespace troupe::cpu
