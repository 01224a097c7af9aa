// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/global_norm_kernels.h"

#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/kernels/global_norm.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_global_norm_kernels)

namespace {

/// Tensors of all floating dtypes: an empty one, one of several parts, one that is not contiguous.
std::vector<Tensor> values() {
  Generator generator(3);
  const auto some = [&](const Shape& shape, DType dtype) { return uniform(shape, -3.0, 2.0, generator, dtype); };
  return {some({7}, DType::f16), some({0, 3}, DType::f32), some({9000}, DType::f32),
          some({30, 40}, DType::bf16).transpose(), some({}, DType::f64)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_and_the_largest_are_close_to_the_cpus) {
  const std::vector<Tensor> xs = values();
  for (const double p : {0.5, 1.0, 2.0, 3.0}) {
    BOOST_TEST(cuda::sum_of_powers_with(kHost, xs, p) == cpu::global_norm_kernels.sum_of_powers(xs, p),
               boost::test_tools::tolerance(1e-13));
  }
  BOOST_TEST(cuda::largest_magnitude_with(kHost, xs) == cpu::global_norm_kernels.largest_magnitude(xs));
}

BOOST_AUTO_TEST_CASE(what_is_no_number_is_largest) {
  std::vector<Tensor> xs = values();
  xs[2].slice(0, 8000, 8001).fill(std::numeric_limits<double>::quiet_NaN());
  BOOST_TEST(std::isnan(cuda::largest_magnitude_with(kHost, xs)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
