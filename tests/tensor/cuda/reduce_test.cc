#include "tensor/kernels/reduce.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_reduce, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::expect_same_on_gpu;
using testing::kFloats;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::tolerance_of;

// Whole numbers, whose sums are exact in any order.
Tensor values(const Shape& shape, DType dtype) {
  Generator generator(3);
  return floor(uniform(shape, -6.0, 7.0, generator, DType::f64)).to(dtype);
}

}  // namespace

BOOST_AUTO_TEST_CASE(dimensions_are_folded_as_on_the_cpu) {
  for (const DType dtype : kDTypes) {
    for (const Tensor& x : layouts_of(values({3, 40, 50}, dtype))) {
      for (const Axes& axes : {Axes{0}, Axes{1}, Axes{2}, Axes{0, 2}, Axes{0, 1, 2}}) {
        expect_same_on_gpu([&](const Tensor& y) { return sum(y, axes); }, x);
        expect_same_on_gpu([&](const Tensor& y) { return max(y, axes, KeepDim::yes); }, x);
        expect_same_on_gpu([&](const Tensor& y) { return min(y, axes); }, x);
        expect_same_on_gpu([&](const Tensor& y) { return all(y, axes); }, x);
      }
      expect_same_on_gpu([](const Tensor& y) { return argmax(y, 1); }, x);
      expect_same_on_gpu([](const Tensor& y) { return argmin(y, 2); }, x);
      expect_close_on_gpu(
          tolerance_of(DType::f32), 1e-12, [](const Tensor& y) { return mean(y.to(DType::f32), 1); }, x);
    }
  }
}

BOOST_AUTO_TEST_CASE(long_sums_are_cut_into_parts_that_are_joined) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i32}) {
    const Tensor x = values({3, 200000}, dtype);
    expect_same_on_gpu([](const Tensor& y) { return sum(y); }, x);
    expect_same_on_gpu([](const Tensor& y) { return sum(y, 1); }, x);
    expect_same_on_gpu([](const Tensor& y) { return sum(y, 0); }, x);
    expect_same_on_gpu([](const Tensor& y) { return sum(y.view({20000, 30}), 0); }, x);
    expect_same_on_gpu([](const Tensor& y) { return argmax(y, 1); }, x);
  }
}

BOOST_AUTO_TEST_CASE(variances_and_norms_are_close_to_the_cpus) {
  Generator generator(1);
  for (const DType dtype : kFloats) {
    const Tensor x = randn({7, 300}, generator, dtype);
    expect_close_on_gpu(
        tolerance_of(dtype), 1e-12, [](const Tensor& y) { return var(y, 1); }, x);
    expect_close_on_gpu(
        tolerance_of(dtype), 1e-12, [](const Tensor& y) { return norm(y, 2.0, 0); }, x);
    expect_close_on_gpu(
        tolerance_of(dtype), 1e-12, [](const Tensor& y) { return logsumexp(y, 1); }, x);
  }
}

BOOST_AUTO_TEST_CASE(the_same_sum_has_the_same_bits_every_time) {
  Generator generator(2);
  const Tensor x = randn({1 << 20}, generator).to(testing::kGpu);
  const Tensor first = sum(x);
  for (int i = 0; i < 20; ++i) expect_same(sum(x), first);
}

BOOST_AUTO_TEST_CASE(nothing_and_one_element) {
  expect_same_on_gpu([](const Tensor& y) { return sum(y, 0); }, zeros({0, 3}));
  expect_same_on_gpu([](const Tensor& y) { return prod(y, 1); }, zeros({2, 0}));
  expect_same_on_gpu([](const Tensor& y) { return max(y); }, full({}, 2.0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
