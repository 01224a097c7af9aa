#include "tensor/kernels/random.h"

#include "tensor/create.h"
#include "tensor/ops/nn.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_random, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::kFloats;
using testing::kGpu;
using testing::NeedsGpus;

/// Fails unless `draw(generator, device)` returns the same bits on both devices and advances the generator equally.
template <class F>
void expect_same_draws(const F& draw) {
  Generator here(11, 12);
  Generator there(11, 12);
  const Tensor on_gpu = draw(there, kGpu);
  BOOST_CHECK(on_gpu.device() == kGpu);
  expect_same(on_gpu.to(Device::cpu()), draw(here, Device::cpu()));
  BOOST_CHECK(here == there);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_generator_gives_the_same_numbers_on_both_devices) {
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7, 1001}, Shape{3'000'001}}) {
    for (const DType dtype : kFloats) {
      expect_same_draws([&](Generator& g, Device device) { return rand(shape, g, dtype, device); });
      expect_same_draws([&](Generator& g, Device device) { return uniform(shape, -3.0, 5.0, g, dtype, device); });
      expect_same_draws([&](Generator& g, Device device) { return randn(shape, g, dtype, device); });
      expect_same_draws([&](Generator& g, Device device) { return dropout_mask(shape, 0.3, g, dtype, device); });
    }
    expect_same_draws([&](Generator& g, Device device) { return randint(-5, 1000, shape, g, device); });
  }
  expect_same_draws([](Generator& g, Device device) { return permutation(1000, g, device); });
}

BOOST_AUTO_TEST_CASE(draws_that_are_rejected_are_repeated_as_on_the_cpu) {
  constexpr std::int64_t kQuarter = std::int64_t{1} << 62U;
  expect_same_draws(
      [](Generator& g, Device device) { return randint(-kQuarter, 2 * (kQuarter - 1), {1000}, g, device); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
