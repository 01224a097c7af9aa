// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/class_loss_kernels.h"

#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_class_loss_kernels)

namespace {

using kernels::RightClasses;
using testing::random_values;

constexpr auto kBoth = {DType::f32, DType::f64};

double tolerance(DType dtype) { return dtype == DType::f64 ? 1e-14 : 2e-6; }

/// Returns targets of `rows` rows, every third ignored by the number -100, with and without weights and smoothing.
std::vector<RightClasses> all_kinds(std::int64_t rows, std::int64_t classes, DType dtype) {
  Generator generator(5);
  Tensor target = randint(0, classes, {rows}, generator);
  for (std::int64_t i = 0; i < rows; i += 3) target.slice(0, i, i + 1).fill(-100.0);
  const Tensor weight = uniform({classes}, 0.5, 2.0, generator, dtype);
  return {{target, {}, -100, 0.0}, {target, weight, -100, 0.0}, {target, {}, -100, 0.3}, {target, weight, -100, 0.3}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(cross_entropy_and_its_gradient_are_close_to_the_cpus_for_few_and_many_classes) {
  for (const DType dtype : kBoth) {
    for (const Shape& shape : {Shape{7, 10}, Shape{4, 700}, Shape{1, 1}, Shape{300, 33}}) {
      const Tensor x = random_values(shape, dtype, 1);
      const Tensor grad = random_values({shape[0]}, DType::f64, 2);
      for (const RightClasses& right : all_kinds(shape[0], shape[1], dtype)) {
        Tensor losses = Tensor::empty({shape[0]}, DType::f64);
        Tensor sums = Tensor::empty({shape[0], 2}, DType::f64);
        Tensor expected_losses = Tensor::empty({shape[0]}, DType::f64);
        Tensor expected_sums = Tensor::empty({shape[0], 2}, DType::f64);
        cuda::cross_entropy_with(kHost, losses, sums, x, right);
        cpu::class_loss_kernels.cross_entropy(expected_losses, expected_sums, x, right);
        expect_close(losses, expected_losses, tolerance(dtype), 1e-14);
        expect_close(sums, expected_sums, tolerance(dtype));
        Tensor slope = Tensor::empty(shape, dtype);
        Tensor expected_slope = Tensor::empty(shape, dtype);
        cuda::cross_entropy_backward_with(kHost, slope, grad, x, expected_sums, right);
        cpu::class_loss_kernels.cross_entropy_backward(expected_slope, grad, x, expected_sums, right);
        expect_close(slope, expected_slope, tolerance(dtype), tolerance(dtype));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(large_logits_do_not_overflow) {
  const Tensor x = from_values<float>({-1000, 1000, 1000}, {1, 3});
  Tensor losses = Tensor::empty({1}, DType::f64);
  Tensor sums = Tensor::empty({1, 2}, DType::f64);
  cuda::cross_entropy_with(kHost, losses, sums, x, {from_values<std::int64_t>({0}), {}, -100, 0.0});
  expect_same(sums, from_values<double>({1000, 2}, {1, 2}));
  expect_close(losses, from_values<double>({2000.0 + std::log(2.0)}), 1e-15);
}

BOOST_AUTO_TEST_CASE(the_right_class_is_picked_and_gets_the_gradient_with_the_cpus_bits) {
  for (const DType dtype : kBoth) {
    for (const Shape& shape : {Shape{6, 5, 1}, Shape{2, 5, 3}, Shape{1, 1, 4}}) {
      const Tensor x = random_values(shape, dtype, 3);
      const Shape rows{shape[0], shape[2]};
      for (const RightClasses& right : all_kinds(rows.numel(), shape[1], dtype)) {
        Tensor got = Tensor::empty(rows, DType::f64);
        Tensor expected = Tensor::empty(rows, DType::f64);
        cuda::nll_with(kHost, got, x, right);
        cpu::class_loss_kernels.nll(expected, x, right);
        expect_same(got, expected);
        Tensor slope = Tensor::empty(shape, dtype);
        Tensor expected_slope = Tensor::empty(shape, dtype);
        cuda::nll_backward_with(kHost, slope, expected, right);
        cpu::class_loss_kernels.nll_backward(expected_slope, expected, right);
        expect_same(slope, expected_slope);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(targets_count_their_weights_but_those_that_are_ignored) {
  const Tensor target = from_values<std::int64_t>({2, -100, 0, 2});
  BOOST_TEST(cuda::weight_of_targets_with(kHost, {target, {}, -100, 0.0}, 3).value() == 3.0);
  for (const DType dtype : kBoth) {
    const Tensor weight = from_values<double>({0.5, 7, 4}).to(dtype);
    BOOST_TEST(cuda::weight_of_targets_with(kHost, {target, weight, -100, 0.0}, 3).value() == 8.5);  // 4 + 0.5 + 4
  }
  BOOST_TEST(cuda::weight_of_targets_with(kHost, {zeros({0}, DType::i64), {}, -100, 0.0}, 3).value() == 0.0);
  const Tensor many = zeros({3'000'000}, DType::i64);
  BOOST_TEST(cuda::weight_of_targets_with(kHost, {many, {}, -100, 0.0}, 1).value() == 3e6);
}

BOOST_AUTO_TEST_CASE(a_target_outside_counts_for_nothing_but_a_weight_that_is_no_number_does) {
  const Tensor target = from_values<std::int64_t>({2, -100, 0});
  BOOST_TEST(!cuda::weight_of_targets_with(kHost, {target, {}, -100, 0.0}, 2).has_value());
  BOOST_TEST(!cuda::weight_of_targets_with(kHost, {target, {}, -1, 0.0}, 3).has_value());
  const Tensor weight = from_values<double>({1, 1, std::numeric_limits<double>::quiet_NaN()});
  BOOST_TEST(std::isnan(cuda::weight_of_targets_with(kHost, {target, weight, -100, 0.0}, 3).value()));
}

BOOST_AUTO_TEST_CASE(no_rows_give_nothing) {
  const RightClasses none{zeros({0}, DType::i64), {}, -100, 0.0};
  Tensor losses = zeros({0}, DType::f64);
  Tensor sums = zeros({0, 2}, DType::f64);
  Tensor slope = zeros({0, 3});
  cuda::cross_entropy_with(kHost, losses, sums, zeros({0, 3}), none);
  cuda::cross_entropy_backward_with(kHost, slope, losses, zeros({0, 3}), sums, none);
  Tensor lines = zeros({0, 3, 1});
  cuda::nll_with(kHost, losses, lines, none);
  cuda::nll_backward_with(kHost, lines, losses, none);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
