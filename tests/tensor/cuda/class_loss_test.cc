#include "tensor/ops/class_loss.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_class_loss, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::kGpu;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::random_values;
using testing::tolerance_of;

constexpr std::array kReductions{Reduction::none, Reduction::sum, Reduction::mean};

Tensor targets(const Shape& shape, std::int64_t classes) {
  Generator generator(4);
  return randint(0, classes, shape, generator);
}

}  // namespace

BOOST_AUTO_TEST_CASE(losses_of_classes_and_their_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = 8 * tolerance_of(dtype);
    for (const Tensor& x : layouts_of(random_values({40, 700, 3}, dtype, 1))) {
      const Tensor target = targets({40, 3}, 700);
      for (const Reduction reduction : kReductions) {
        for (const double smoothing : {0.0, 0.1}) {
          const Tensor grad = reduction == Reduction::none ? random_values({40, 3}, dtype, 2) : full({}, 0.5, dtype);
          const auto loss = [&](const Tensor& logits, const Tensor& right, const Tensor& weight) {
            const CrossEntropyOptions options{
                .weight = weight, .ignore_index = 3, .reduction = reduction, .label_smoothing = smoothing};
            return cross_entropy(logits, right, options);
          };
          const auto slope = [&](const Tensor& logits, const Tensor& right, const Tensor& weight, const Tensor& g) {
            const CrossEntropyOptions options{
                .weight = weight, .ignore_index = 3, .reduction = reduction, .label_smoothing = smoothing};
            const detail::ClassLoss of("cross_entropy", logits, right, options);
            return of.cross_entropy_backward(g, logits, of.cross_entropy(logits).sums);
          };
          const Tensor weight = mul(random_values({700}, DType::f32, 3), random_values({700}, DType::f32, 3));
          expect_close_on_gpu(rtol, 1e-6, loss, x, target, weight);
          expect_close_on_gpu(rtol, 1e-6, slope, x, target, weight, grad);
        }
        const auto pick = [&](const Tensor& scores, const Tensor& right) { return nll_loss(scores, right, reduction); };
        expect_close_on_gpu(rtol, 1e-6, pick, x, target);
      }
      const auto slope = [](const Tensor& scores, const Tensor& right) {
        return detail::ClassLoss("nll_loss", scores, right, {}).nll_backward(ones({}, scores.dtype(), scores.device()));
      };
      expect_close_on_gpu(rtol, 1e-6, slope, x, target);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_target_outside_is_named_as_on_the_cpu) {
  const Tensor x = random_values({3, 4}, DType::f32, 1).to(kGpu);
  const Tensor target = from_values<std::int64_t>({0, -100, 7}).to(kGpu);
  expect_error<IndexError>("[cross_entropy] index out of range: 7 of 4", [&] { (void)cross_entropy(x, target); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
