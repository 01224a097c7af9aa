// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/gather_kernels.h"

#include "tensor/kernels/gather.h"
#include "tensor/kernels/indexing.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/cuda/layouts.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_gather_kernels)

namespace {

using testing::layouts_of;

Tensor values(const Shape& shape, DType dtype) {
  Generator generator(3);
  return uniform(shape, -9.0, 9.0, generator, DType::f64).to(dtype);
}

Tensor places(const Shape& shape, std::int64_t size) {
  Generator generator(4);
  return randint(0, size, shape, generator);
}

constexpr auto kComputed = {DType::i32, DType::i64, DType::f32, DType::f64};

}  // namespace

BOOST_AUTO_TEST_CASE(elements_are_gathered_as_on_the_cpu) {
  for (const DType dtype : kDTypes) {
    for (const Tensor& x : layouts_of(values({4, 5, 6}, dtype))) {
      for (const int dim : {0, 1, 2}) {
        const Tensor index = places({3, 4, 5}, x.size(dim));
        Tensor got = Tensor::empty(index.shape(), dtype);
        Tensor expected = Tensor::empty(index.shape(), dtype);
        cuda::gather_with(kHost, got, x, dim, index);
        cpu::gather_kernels.gather(expected, x, dim, index);
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(rows_are_taken_and_single_elements_picked_and_placed_as_on_the_cpu) {
  for (const DType dtype : kDTypes) {
    const Tensor x = values({2, 7, 3}, dtype);
    const Tensor index = places({10}, 7);
    Tensor got = Tensor::empty({2, 10, 3}, dtype);
    Tensor expected = Tensor::empty({2, 10, 3}, dtype);
    cuda::take_with(kHost, got, x, index);
    cpu::index_kernels.take(expected, x, index);
    expect_same(got, expected);

    const Tensor table = values({10, 7}, dtype);
    Tensor picked = Tensor::empty({10}, dtype);
    Tensor expected_picked = Tensor::empty({10}, dtype);
    cuda::pick_with(kHost, picked, table, index);
    cpu::index_kernels.pick(expected_picked, table, index);
    expect_same(picked, expected_picked);

    Tensor placed = zeros({10, 7}, dtype);
    Tensor expected_placed = zeros({10, 7}, dtype);
    cuda::place_with(kHost, placed, picked, index);
    cpu::index_kernels.place(expected_placed, picked, index);
    expect_same(placed, expected_placed);
  }
}

BOOST_AUTO_TEST_CASE(what_comes_together_is_added_in_the_order_of_the_index) {
  for (const DType dtype : kComputed) {
    const Tensor x = values({2, 500, 3}, dtype);
    const Tensor index = places({500}, 7);
    Tensor got = values({2, 7, 3}, dtype);
    Tensor expected = got.clone();
    cuda::put_add_with(kHost, got, x, index);
    cpu::index_kernels.put_add(expected, x, index);
    expect_same(got, expected);
    for (const int dim : {0, 1, 2}) {
      const Tensor source = values({5, 6, 7}, dtype);
      for (const Tensor& layout : layouts_of(source)) {
        const Tensor to = places({4, 5, 6}, 4);
        Tensor sums = values({4, 5, 6}, dtype);
        Tensor expected_sums = sums.clone();
        cuda::scatter_add_with(kHost, sums, dim, to, layout);
        cpu::gather_kernels.scatter_add(expected_sums, dim, to, source);
        expect_same(sums, expected_sums);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(of_several_elements_for_one_place_the_last_stays) {
  for (const DType dtype : kDTypes) {
    const Tensor source = values({5, 6, 7}, dtype);
    for (const Tensor& layout : layouts_of(source)) {
      for (const int dim : {0, 1, 2}) {
        const Tensor to = places({4, 5, 6}, 4);
        Tensor got = values({4, 5, 6}, dtype);
        Tensor expected = got.clone();
        cuda::scatter_with(kHost, got, dim, to, layout);
        cpu::gather_kernels.scatter(expected, dim, to, source);
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(no_index_moves_nothing) {
  const Tensor none = zeros({0}, DType::i64);
  Tensor out = ones({2, 3, 2});
  cuda::put_add_with(kHost, out, zeros({2, 0, 2}), none);
  expect_same(out, ones({2, 3, 2}));
  Tensor empty = Tensor::empty({2, 0, 2});
  cuda::take_with(kHost, empty, out, none);
  cuda::scatter_with(kHost, out, 0, none.view({0, 1, 1}), ones({2, 3, 2}));
  expect_same(out, ones({2, 3, 2}));
  BOOST_TEST(cuda::all_inside_with(kHost, none, 0));
}

BOOST_AUTO_TEST_CASE(an_index_outside_is_seen_at_either_end) {
  BOOST_TEST(cuda::all_inside_with(kHost, from_values<std::int64_t>({0, 4, 2}), 5));
  BOOST_TEST(!cuda::all_inside_with(kHost, from_values<std::int64_t>({0, 5, 2}), 5));
  BOOST_TEST(!cuda::all_inside_with(kHost, from_values<std::int64_t>({0, 4, -1}), 5));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
