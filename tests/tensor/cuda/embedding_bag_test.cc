#include "tensor/ops/embedding_bag.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_embedding_bag, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::expect_same_on_gpu;
using testing::kFloats;
using testing::kGpu;
using testing::NeedsGpus;
using testing::random_values;

Tensor places(const Shape& shape, std::int64_t size) {
  Generator generator(4);
  return randint(0, size, shape, generator);
}

Tensor offsets() { return from_values<std::int64_t>({0, 700, 700, 2990}); }

}  // namespace

BOOST_AUTO_TEST_CASE(bags_and_their_gradients_have_the_bits_of_the_cpus) {
  for (const DType dtype : kFloats) {
    const Tensor weight = random_values({50, 70}, dtype, 1);
    const Tensor grad = random_values({4, 70}, dtype, 2);
    const Tensor index = places({3000}, 50);
    for (const BagMode mode : {BagMode::sum, BagMode::mean, BagMode::max}) {
      for (const std::optional<std::int64_t> padding :
           {std::optional<std::int64_t>(), std::optional<std::int64_t>(7)}) {
        const EmbeddingBagOptions options{.mode = mode, .padding_idx = padding};
        const auto bags = [&](const Tensor& w, const Tensor& at, const Tensor& begins) {
          return detail::EmbeddingBag(w, at, begins, options, {}).forward(w).output;
        };
        expect_same_on_gpu(bags, weight, index, offsets());
        const auto table = [&](const Tensor& w, const Tensor& at, const Tensor& begins, const Tensor& g) {
          const detail::EmbeddingBag of(w, at, begins, options, {});
          return of.backward(g, of.forward(w).where_max);
        };
        expect_same_on_gpu(table, weight, index, offsets(), grad);
        const auto rows = [&](const Tensor& w, const Tensor& at, const Tensor& begins, const Tensor& g) {
          const detail::EmbeddingBag of(w, at, begins, options, {});
          return of.backward_rows(g, of.forward(w).where_max).to_dense();
        };
        expect_same_on_gpu(rows, weight, index, offsets(), grad);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_of_samples_get_a_gradient) {
  for (const DType dtype : kFloats) {
    const auto slope = [](const Tensor& w, const Tensor& at, const Tensor& samples, const Tensor& g) {
      return detail::EmbeddingBag(w, at, {}, {.mode = BagMode::sum}, samples).backward_samples(g, w);
    };
    const double tolerance = dtype == DType::f64 ? 1e-14 : dtype == DType::f32 ? 1e-6 : 1e-2;
    expect_close_on_gpu(tolerance, tolerance, slope, random_values({50, 70}, dtype, 1), places({4, 30}, 50),
                        random_values({4, 30}, dtype, 3), random_values({4, 70}, dtype, 2));
  }
}

BOOST_AUTO_TEST_CASE(offsets_that_do_not_fit_are_named_as_on_the_cpu) {
  const Tensor weight = random_values({50, 70}, DType::f32, 1).to(kGpu);
  const Tensor begins = from_values<std::int64_t>({0, 5, 3}).to(kGpu);
  expect_error<ValueError>("[embedding_bag] offset 3 after 5",
                           [&] { (void)embedding_bag(weight, places({9}, 50).to(kGpu), begins); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
