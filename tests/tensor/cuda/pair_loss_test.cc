#include "tensor/ops/pair_loss.h"

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/tensor/cuda/on_gpu.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_pair_loss, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_close_on_gpu;
using testing::kFloats;
using testing::kGpu;
using testing::layouts_of;
using testing::NeedsGpus;
using testing::random_values;
using testing::tolerance_of;

constexpr std::array kReductions{Reduction::none, Reduction::sum, Reduction::mean};

/// Probabilities.
}  // namespace

BOOST_AUTO_TEST_CASE(losses_of_pairs_and_their_gradients_are_close_to_the_cpus) {
  for (const DType dtype : kFloats) {
    const double rtol = 8 * tolerance_of(dtype);
    const Tensor y = random_values({4, 5, 600}, dtype, 2, 0.1, 0.9);
    for (const Tensor& x : layouts_of(random_values({4, 5, 600}, dtype, 1, 0.1, 0.9))) {
      for (const Reduction reduction : kReductions) {
        const auto check = [&](const auto& make) {
          expect_close_on_gpu(
              rtol, 1e-6, [&](const Tensor& a, const Tensor& b) { return make(a, b).value(a, b); }, x, y);
          for (const std::size_t side : {0U, 1U}) {
            const auto slope = [&](const Tensor& a, const Tensor& b) {
              const Shape shape = reduction == Reduction::none ? a.shape() : Shape{};
              return make(a, b).backward(ones(shape, a.dtype(), a.device()), a, b, {true, true})[side];
            };
            expect_close_on_gpu(rtol, 1e-6, slope, x, y);
          }
        };
        check([&](const Tensor& a, const Tensor& b) { return detail::mse_loss_of(a, b, reduction); });
        check([&](const Tensor& a, const Tensor& b) { return detail::l1_loss_of(a, b, reduction); });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::smooth_l1_loss_of(a, b, {.beta = 0.5, .reduction = reduction});
        });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::huber_loss_of(a, b, {.delta = 0.5, .reduction = reduction});
        });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::bce_loss_of(a, b, {.weight = b, .reduction = reduction});
        });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::bce_with_logits_of(a, b, {.pos_weight = b, .reduction = reduction});
        });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::kl_div_of(a, b, {.reduction = static_cast<KlDivReduction>(reduction)});
        });
        check([&](const Tensor& a, const Tensor& b) {
          return detail::kl_div_of(a, b, {.log_target = true, .reduction = static_cast<KlDivReduction>(reduction)});
        });
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_probability_is_named_as_on_the_cpu) {
  const Tensor x = from_values<float>({0.5F, 1.5F}).to(kGpu);
  expect_error<ValueError>("[bce_loss] not a probability: 1.5", [&] { (void)bce_loss(x, x); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
