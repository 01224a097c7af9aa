#include "tensor/kernels/matmul.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_matmul, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::NeedsGpus;
using testing::whole_values;

// Whole numbers so small that products and sums are exact in every dtype except for the last rounding.
const auto kProduct = [](const Tensor& a, const Tensor& b) { return matmul(a, b); };

/// Equal numbers: cuBLAS keeps the sign of a zero that the CPU adds to zero.
template <class F, class... Tensors>
void expect_equal_on_gpu(const F& f, const Tensors&... x) {
  expect_close_on_gpu(0.0, 0.0, f, x...);
}

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_small_whole_numbers_equal_the_cpus) {
  for (const DType dtype : kFloats) {
    expect_equal_on_gpu(kProduct, whole_values({30, 40}, dtype), whole_values({40, 50}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({40, 30}, dtype).transpose(), whole_values({50, 40}, dtype).transpose());
    expect_equal_on_gpu(kProduct, whole_values({30, 80}, dtype).slice(1, 0, 80, 2), whole_values({40, 50}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({40}, dtype), whole_values({40, 50}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({2, 3, 7, 8}, dtype), whole_values({3, 8, 9}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({5, 7, 8}, dtype), whole_values({8, 9}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({3, 1}, dtype), whole_values({1, 4}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({3, 0}, dtype), whole_values({0, 4}, dtype));
    expect_equal_on_gpu(kProduct, whole_values({0, 3}, dtype), whole_values({3, 4}, dtype));
    const auto add = [](const Tensor& c, const Tensor& a, const Tensor& b) { return addmm(c, a, b, 0.5, 2.0); };
    expect_equal_on_gpu(add, whole_values({50}, dtype), whole_values({30, 40}, dtype), whole_values({40, 50}, dtype));
  }
}

BOOST_AUTO_TEST_CASE(f32_is_multiplied_as_f32) {
  Generator generator(1);
  const Tensor a = randn({256, 512}, generator);
  const Tensor b = randn({512, 128}, generator);
  // TF32 would be off by 1e-3; entries are about 20.
  expect_close_on_gpu(1e-5, 2e-4, kProduct, a, b);
  expect_close_on_gpu(1e-13, 1e-12, kProduct, a.to(DType::f64), b.to(DType::f64));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
