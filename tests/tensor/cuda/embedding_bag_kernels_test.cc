// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/embedding_bag_kernels.h"

#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"
#include "tests/tensor/random_values.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_embedding_bag_kernels)

namespace {

using kernels::Bags;
using testing::random_values;

constexpr std::int64_t kRows = 6;
constexpr std::int64_t kBags = 5;
constexpr std::int64_t kEntries = 40;
constexpr auto kBoth = {DType::f32, DType::f64};

/// Bags of 7, 0, 32, 1 and 0 entries, with and without scales, with and without a padding row.
std::vector<Bags> all_kinds(DType dtype) {
  Generator generator(3);
  const Tensor index = randint(0, kRows, {kEntries}, generator);
  const Tensor offsets = from_values<std::int64_t>({0, 7, 7, 39, 40, 40});
  const Tensor scales = random_values({kEntries}, compute_dtype(dtype), 4);
  return {{index, offsets}, {index, offsets, scales}, {index, offsets, {}, 2}, {index, offsets, scales, 2}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_and_extremes_have_the_bits_of_the_cpus) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const std::int64_t width : {1, 3, 300}) {
      Tensor weight = random_values({kRows, width}, dtype, 1);
      weight.slice(0, 4, 5).slice(1, 0, 1).fill(std::numeric_limits<double>::quiet_NaN());
      for (const Bags& bags : all_kinds(dtype)) {
        Tensor got = Tensor::empty({kBags, width}, dtype);
        Tensor expected = Tensor::empty({kBags, width}, dtype);
        const auto expect_same_numbers = [&] {  // the bits of a NaN may differ
          expect_same(masked_fill(got, ne(got, got), 99.0), masked_fill(expected, ne(expected, expected), 99.0));
        };
        cuda::bag_sum_with(kHost, got, weight, bags);
        cpu::bag_kernels.bag_sum(expected, weight, bags);
        expect_same_numbers();
        Tensor places = Tensor::empty({kBags, width}, DType::i64);
        Tensor expected_places = Tensor::empty({kBags, width}, DType::i64);
        cuda::bag_max_with(kHost, got, places, weight, bags);
        cpu::bag_kernels.bag_max(expected, expected_places, weight, bags);
        expect_same_numbers();
        expect_same(places, expected_places);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(gradients_by_tables_and_their_rows_have_the_bits_of_the_cpus) {
  for (const DType dtype : kBoth) {
    for (const std::int64_t width : {1, 3, 300}) {
      const Tensor weight = random_values({kRows, width}, dtype, 1);
      const Tensor grad = random_values({kBags, width}, dtype, 2);
      for (const Bags& bags : all_kinds(dtype)) {
        Tensor largest = Tensor::empty({kBags, width}, dtype);
        Tensor places = Tensor::empty({kBags, width}, DType::i64);
        cpu::bag_kernels.bag_max(largest, places, weight, bags);
        Tensor got = weight.clone();
        Tensor expected = weight.clone();
        cuda::bag_add_with(kHost, got, grad, {}, bags);
        cpu::bag_kernels.bag_add(expected, grad, bags);
        expect_same(got, expected);
        cuda::bag_add_with(kHost, got, grad, places, bags);
        cpu::bag_kernels.bag_max_add(expected, grad, places, bags);
        expect_same(got, expected);
        Tensor rows = ones({kEntries, width}, dtype);
        Tensor expected_rows = ones({kEntries, width}, dtype);
        cuda::bag_values_with(kHost, rows, grad, bags);
        cpu::bag_kernels.bag_values(expected_rows, grad, bags);
        expect_same(rows, expected_rows);
        cuda::bag_max_values_with(kHost, rows, grad, places);
        cpu::bag_kernels.bag_max_values(expected_rows, grad, places);
        expect_same(rows, expected_rows);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(scales_of_means_have_the_bits_of_the_cpus_and_gradients_by_scales_are_close) {
  for (const DType dtype : kBoth) {
    for (const Bags& bags : all_kinds(dtype)) {
      Tensor got = zeros({kEntries}, dtype);
      Tensor expected = zeros({kEntries}, dtype);
      cuda::bag_mean_scales_with(kHost, got, bags);
      cpu::bag_kernels.bag_mean_scales(expected, bags);
      expect_same(got, expected);
      for (const std::int64_t width : {1, 300}) {
        const Tensor weight = random_values({kRows, width}, dtype, 1);
        const Tensor grad = random_values({kBags, width}, dtype, 2);
        cuda::bag_scales_backward_with(kHost, got, grad, weight, bags);
        cpu::bag_kernels.bag_scales_backward(expected, grad, weight, bags);
        expect_close(got, expected, dtype == DType::f64 ? 1e-14 : 1e-6, 1e-6);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(bags_of_nothing_are_zeros) {
  const Bags empty{zeros({0}, DType::i64), zeros({3}, DType::i64)};
  Tensor out = ones({2, 3});
  cuda::bag_sum_with(kHost, out, ones({4, 3}), empty);
  expect_same(out, zeros({2, 3}));
  Tensor table = ones({4, 3});
  cuda::bag_add_with(kHost, table, out, {}, empty);
  expect_same(table, ones({4, 3}));
  const Bags none{zeros({0}, DType::i64), zeros({1}, DType::i64)};
  Tensor nothing = zeros({0, 3});
  cuda::bag_sum_with(kHost, nothing, table, none);
  cuda::bag_values_with(kHost, nothing, nothing, none);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
