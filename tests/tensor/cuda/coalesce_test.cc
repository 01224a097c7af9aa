#include "tensor/kernels/coalesce.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/sparse.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_coalesce, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_same_on_gpu;
using testing::kGpu;
using testing::NeedsGpus;

Tensor places(const Shape& shape, std::int64_t size) {
  Generator generator(4);
  return randint(0, size, shape, generator);
}

Tensor values(const Shape& shape, DType dtype) {
  Generator generator(5);
  return uniform(shape, -9.0, 9.0, generator, DType::f64).to(dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_come_together_with_the_bits_of_the_cpus) {
  for (const DType dtype : {DType::f16, DType::f32, DType::f64, DType::i8, DType::i64}) {
    const auto sums = [](const Tensor& at, const Tensor& x) {
      return SparseTensor(at, x, {60, 33}).coalesce().values();
    };
    const auto numbers = [](const Tensor& at, const Tensor& x) {
      return SparseTensor(at, x, {60, 33}).coalesce().indices();
    };
    const auto dense = [](const Tensor& at, const Tensor& x) {
      return SparseTensor(at, x, {60, 33}).coalesce().to_dense();
    };
    for (const std::int64_t count : {0, 1, 3000}) {
      const Tensor x = values({count, 33}, dtype);
      expect_same_on_gpu(sums, places({1, count}, 60), x);
      expect_same_on_gpu(numbers, places({1, count}, 60), x);
      expect_same_on_gpu(dense, places({1, count}, 60), x);
    }
  }
}

BOOST_AUTO_TEST_CASE(places_along_two_dimensions_come_together_too) {
  const auto sums = [](const Tensor& at, const Tensor& x) {
    return SparseTensor(at, x, {9, 9, 5}).coalesce().to_dense();
  };
  expect_same_on_gpu(sums, places({2, 300}, 9), values({300, 5}, DType::f32));
  const auto back = [](const Tensor& x) { return SparseTensor::from_dense(x, 2).values(); };
  expect_same_on_gpu(back, values({3, 4, 5}, DType::f32));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_named_as_on_the_cpu) {
  const Tensor at = from_values<std::int64_t>({1, 7, 0}, {1, 3}).to(kGpu);
  const Tensor x = zeros({3, 2}, DType::f32, kGpu);
  expect_error<IndexError>("[SparseTensor] index out of range: 7 of 5", [&] { (void)SparseTensor(at, x, {5, 2}); });
  expect_error<ValueError>("[coalesced] places are not ascending", [&] {
    (void)SparseTensor(at, x, {8, 2}).as_coalesced();
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
