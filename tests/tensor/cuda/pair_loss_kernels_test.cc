// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/pair_loss_kernels.h"

#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_pair_loss_kernels)

namespace {

using kernels::PairLoss;
using kernels::PairLossKind;

constexpr auto kBoth = {DType::f32, DType::f64};

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-14 : 4e-6; }

/// Probabilities that include 0, 1 and an equal pair.
struct Pairs {
  Tensor x;
  Tensor y;
  Tensor weight;
  Tensor pos_weight;

  Pairs(std::int64_t size, DType dtype) {
    Generator generator(3);
    x = uniform({size}, 0.01, 0.99, generator, dtype);
    y = uniform({size}, 0.01, 0.99, generator, dtype);
    weight = uniform({size}, 0.5, 2.0, generator, dtype);
    pos_weight = uniform({size}, 0.5, 2.0, generator, dtype);
    if (size < 5) return;
    x.slice(0, 0, 1).fill(0.0);
    x.slice(0, 1, 2).fill(1.0);
    y.slice(0, 2, 3).fill(0.0);
    y.slice(0, 3, 4).copy_from(x.slice(0, 3, 4));
  }

  [[nodiscard]] std::vector<PairLoss> losses() const {
    std::vector<PairLoss> all;
    for (int kind = 0; kind <= static_cast<int>(PairLossKind::kl_of_logs); ++kind) {
      all.push_back({static_cast<PairLossKind>(kind), 0.25});
      all.push_back({static_cast<PairLossKind>(kind), 0.25, weight});
    }
    all.push_back({PairLossKind::bce_with_logits, 0.0, weight, pos_weight});
    return all;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(every_loss_and_gradient_is_close_to_the_cpus) {
  for (const DType dtype : kBoth) {
    const Pairs pairs(700, dtype);
    const Tensor& x = pairs.x;
    const Tensor& y = pairs.y;
    for (const PairLoss& loss : pairs.losses()) {
      BOOST_TEST_CONTEXT("kind " << static_cast<int>(loss.kind)) {
        Tensor got = Tensor::empty(x.shape(), dtype);
        Tensor expected = Tensor::empty(x.shape(), dtype);
        cuda::pair_loss_with(kHost, got, x, y, loss);
        cpu::pair_loss_kernels.pair_loss(expected, x, y, loss);
        expect_close(got, expected, tolerance(dtype), tolerance(dtype));
        for (const Tensor& grad : {full({}, 0.5, dtype), pairs.pos_weight}) {
          Tensor by_x = Tensor::empty(x.shape(), dtype);
          Tensor by_y = Tensor::empty(x.shape(), dtype);
          Tensor expected_x = Tensor::empty(x.shape(), dtype);
          Tensor expected_y = Tensor::empty(x.shape(), dtype);
          cuda::pair_loss_backward_with(kHost, by_x, by_y, grad, x, y, loss);
          cpu::pair_loss_kernels.pair_loss_backward(expected_x, expected_y, grad, x, y, loss);
          expect_close(by_x, expected_x, tolerance(dtype), tolerance(dtype));
          expect_close(by_y, expected_y, tolerance(dtype), tolerance(dtype));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_gradient_that_nobody_wants_is_not_written) {
  const Pairs pairs(9, DType::f32);
  const PairLoss loss{PairLossKind::squared};
  Tensor none;
  Tensor by_y = Tensor::empty({9});
  cuda::pair_loss_backward_with(kHost, none, by_y, ones({}), pairs.x, pairs.y, loss);
  Tensor expected = Tensor::empty({9});
  cpu::pair_loss_kernels.pair_loss_backward(none, expected, ones({}), pairs.x, pairs.y, loss);
  expect_same(by_y, expected);
  cuda::pair_loss_backward_with(kHost, by_y, none, ones({}), pairs.x, pairs.y, loss);
  BOOST_TEST(!none.defined());
}

BOOST_AUTO_TEST_CASE(sums_of_one_part_and_of_many_are_close_to_the_cpus) {
  for (const DType dtype : kBoth) {
    for (const std::int64_t size : {0, 1, 700, 9000}) {
      const Pairs pairs(size, dtype);
      for (const PairLoss& loss : pairs.losses()) {
        Tensor got = Tensor::empty({}, DType::f64);
        Tensor expected = Tensor::empty({}, DType::f64);
        cuda::pair_loss_sum_with(kHost, got, pairs.x, pairs.y, loss, 8.0);
        cpu::pair_loss_kernels.pair_loss_sum(expected, pairs.x, pairs.y, loss, 8.0);
        expect_close(got, expected, tolerance(dtype), tolerance(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_no_probability_is_seen) {
  BOOST_TEST(cuda::all_probabilities_with(kHost, from_values<float>({0, 0.5, 1})));
  BOOST_TEST(cuda::all_probabilities_with(kHost, zeros({0})));
  BOOST_TEST(!cuda::all_probabilities_with(kHost, from_values<float>({0, 0.5, 1.5})));
  BOOST_TEST(!cuda::all_probabilities_with(kHost, from_values<double>({-1e-9, 0.5})));
  BOOST_TEST(!cuda::all_probabilities_with(kHost, from_values<double>({std::numeric_limits<double>::quiet_NaN()})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
