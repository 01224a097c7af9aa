// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/order_kernels.h"

#include <cmath>
#include <limits>

#include "tensor/kernels/order.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/cuda/layouts.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_order_kernels)

namespace {

using testing::layouts_of;

void expect_as_cpu(const Tensor& x, std::int64_t k) {
  for (const Order order : {Order::ascending, Order::descending}) {
    Shape shape = x.shape();
    shape[x.dim() - 1] = k;
    Tensor got = Tensor::empty(shape, DType::i64);
    Tensor expected = Tensor::empty(shape, DType::i64);
    cuda::order_last_with(kHost, got, x, order);
    cpu::order_kernels.order_last(expected, x, order);
    expect_same(got, expected);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_sorted_as_on_the_cpu) {
  Generator generator(1);
  const Tensor numbers = floor(uniform({3, 4, 40}, -20.0, 20.0, generator, DType::f64));  // many elements are equal
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64}) {
    for (const Tensor& x : layouts_of(numbers.to(dtype))) {
      expect_as_cpu(x, 40);
      expect_as_cpu(x, 7);
      expect_as_cpu(x.select(0, 1).select(0, 2), 40);
    }
  }
  expect_as_cpu(zeros({0, 3}), 3);
  expect_as_cpu(zeros({2, 3}), 0);
  expect_as_cpu(ones({1, 1}), 1);
}

BOOST_AUTO_TEST_CASE(the_ends_of_every_range_are_in_order) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::nan("");
  const Tensor x = from_values<double>({nan, 0.0, -0.0, kInf, -kInf, 1e-310, -1e-310, nan, 1e308, -1e308, -nan});
  expect_as_cpu(x, 11);
  expect_as_cpu(x.to(DType::f32), 11);
  using Limits = std::numeric_limits<std::int64_t>;
  expect_as_cpu(from_values<std::int64_t>({0, -1, Limits::max(), Limits::min(), 1}), 5);
  using Limits32 = std::numeric_limits<std::int32_t>;
  expect_as_cpu(from_values<std::int32_t>({0, -1, Limits32::max(), Limits32::min(), 1}), 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
