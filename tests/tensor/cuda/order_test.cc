#include "tensor/cuda/sort_pairs.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_order, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::expect_same_on_gpu;
using testing::layouts_of;
using testing::NeedsGpus;

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_sorted_as_on_the_cpu) {
  Generator generator(1);
  const Tensor numbers = floor(uniform({7, 5, 300}, -90.0, 90.0, generator, DType::f64));  // many elements are equal
  for (const DType dtype : kDTypes) {
    for (const Tensor& x : layouts_of(numbers.to(dtype))) {
      for (const Order order : {Order::ascending, Order::descending}) {
        for (const int dim : {0, 1, 2}) {
          expect_same_on_gpu([&](const Tensor& y) { return argsort(y, dim, order); }, x);
          expect_same_on_gpu([&](const Tensor& y) { return topk(y, 3, dim, order).values; }, x);
        }
      }
    }
  }
  expect_same_on_gpu([](const Tensor& y) { return argsort(y, 0, Order::ascending); }, zeros({0}));
  expect_same_on_gpu([](const Tensor& y) { return argsort(y, 0, Order::ascending); }, ones({1}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
