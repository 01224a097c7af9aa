// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/reduce_kernels.h"

#include <cmath>
#include <limits>

#include "tensor/cuda/argument_kernels.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/cuda/layouts.h"
#include "tests/tensor/expect.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_reduce_kernels)

namespace {

using kernels::AxisSet;
using kernels::Extreme;
using kernels::ReduceOp;
using testing::layouts_of;

constexpr auto kOps = {ReduceOp::sum, ReduceOp::mean, ReduceOp::prod, ReduceOp::max, ReduceOp::min};

// Numbers of a few bits, whose sums are exact in any order.
Tensor values(const Shape& shape, DType dtype) {
  Generator generator(3);
  const Tensor x = floor(uniform(shape, -6.0, 7.0, generator, DType::f64));
  return x.to(dtype);
}

DType dtype_of_result(ReduceOp op, DType dtype) {
  return (op == ReduceOp::sum || op == ReduceOp::prod) && !is_floating(dtype) ? DType::i64 : dtype;
}

void expect_as_cpu(ReduceOp op, const Tensor& x, const AxisSet& axes) {
  Shape shape;
  for (int i = 0; i < x.dim(); ++i) {
    if (!axes[static_cast<std::size_t>(i)]) shape.push_back(x.shape()[i]);
  }
  Tensor got = Tensor::empty(shape, dtype_of_result(op, x.dtype()));
  Tensor expected = Tensor::empty(shape, got.dtype());
  cuda::reduce_with(kHost, op, got, x, axes);
  cpu::reduce_kernels.reduce(op, expected, x, axes);
  BOOST_TEST_CONTEXT("operation " << static_cast<int>(op)) expect_same(got, expected);
}

}  // namespace

BOOST_AUTO_TEST_CASE(long_dimensions_are_read_several_elements_at_a_time) {
  for (const Shape& shape : {Shape{70'001}, Shape{5'003, 40}, Shape{40, 5'003}}) {
    for (std::size_t axis = 0; axis < static_cast<std::size_t>(shape.size()); ++axis) {
      AxisSet axes{};
      axes[axis] = true;
      expect_as_cpu(ReduceOp::sum, values(shape, DType::f32), axes);
      expect_as_cpu(ReduceOp::max, values(shape, DType::i64), axes);
    }
  }
}

BOOST_AUTO_TEST_CASE(every_choice_of_dimensions_gives_what_the_cpu_gives) {
  for (const DType dtype : kDTypes) {
    for (const Tensor& x : layouts_of(values({3, 4, 5}, dtype))) {
      for (unsigned set = 0; set < 8; ++set) {
        const AxisSet axes{(set & 1U) != 0, (set & 2U) != 0, (set & 4U) != 0};
        for (const ReduceOp op : kOps) {
          if (op == ReduceOp::mean && !is_floating(dtype)) continue;
          expect_as_cpu(op, x, axes);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(long_rows_and_long_columns_are_cut_into_parts) {
  // Sums of whole numbers are exact in f64 in any order. Products of more than a few would not be.
  for (const DType dtype : {DType::i32, DType::f32}) {
    const Tensor flat = values({3, 20000}, dtype);
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
      expect_as_cpu(op, flat, AxisSet{false, true});               // rows: several parts of each
      expect_as_cpu(op, flat.reshape({60000}), AxisSet{true});     // one result
      expect_as_cpu(op, flat.reshape({1500, 40}), AxisSet{true});  // columns: several parts of each
      expect_as_cpu(op, flat.reshape({60000, 1}).expand({60000, 3}), AxisSet{true, false});
      expect_as_cpu(op, flat.reshape({100, 600}), AxisSet{false, true});
    }
  }
  BOOST_TEST(cuda::plan_reduce({.rank = 1, .sizes = {3}, .strides = {{{20000}}}, .numel = 3}, 20000, 1).chunk < 20000U);
  BOOST_TEST(cuda::plan_reduce({.rank = 1, .sizes = {40}, .strides = {{{1}}}, .numel = 40}, 1500, 40).chunk < 1500U);
}

BOOST_AUTO_TEST_CASE(sums_of_many_floats_are_those_of_f64) {
  Generator generator(5);
  const Tensor x = rand({100000}, generator);
  Tensor got = Tensor::empty({}, DType::f32);
  cuda::reduce_with(kHost, ReduceOp::sum, got, x, AxisSet{true});
  expect_same(got, sum(x.to(DType::f64)).to(DType::f32));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_stays_and_nothing_folds_to_the_start) {
  const double nan = std::nan("");
  const Tensor x = from_values<double>({1, nan, 3, 2, nan, -5}, {2, 3});
  for (const ReduceOp op : kOps) {
    expect_as_cpu(op, x, AxisSet{false, true});
    expect_as_cpu(op, x, AxisSet{true, false});
  }
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::mean}) {
    expect_as_cpu(op, zeros({2, 0, 3}), AxisSet{false, true, false});
    expect_as_cpu(op, zeros({0}), AxisSet{true});
    expect_as_cpu(op, zeros({0, 2}), AxisSet{false, true});
  }
  expect_as_cpu(ReduceOp::max, full({}, 3.0), AxisSet{});
}

BOOST_AUTO_TEST_CASE(the_first_of_the_most_extreme_elements_is_found) {
  const double nan = std::nan("");
  const auto expect_place = [](Extreme extreme, const Tensor& x) {
    Tensor got = Tensor::empty({x.size(0), x.size(1)}, DType::i64);
    Tensor expected = Tensor::empty(got.shape(), DType::i64);
    cuda::argument_last_with(kHost, extreme, got, x);
    cpu::reduce_kernels.argument_last(extreme, expected, x);
    expect_same(got, expected);
  };
  for (const Extreme extreme : {Extreme::largest, Extreme::smallest}) {
    for (const DType dtype : kDTypes) {
      for (const Tensor& x : layouts_of(values({2, 3, 50}, dtype))) expect_place(extreme, x);
    }
    expect_place(extreme, values({2, 2, 1500}, DType::f32));
    expect_place(extreme, from_values<double>({1, nan, 3, nan, 7, 7, 7, 7}, {1, 2, 4}));
    expect_place(extreme, values({2, 3, 1}, DType::f16));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
