// Runs the bodies of the GPU kernels on the CPU and compares them with the CPU kernels.
#include "tensor/cuda/coalesce_kernels.h"

#include "tensor/create.h"
#include "tensor/kernels/coalesce.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {
namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_coalesce_kernels)

BOOST_AUTO_TEST_CASE(rows_of_one_number_are_summed_with_the_cpus_bits) {
  Generator generator(3);
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64}) {
    for (const std::int64_t width : {1, 3, 50}) {
      for (const std::int64_t count : {1, 2, 900}) {
        const Tensor numbers = randint(0, 60, {count}, generator);
        const Tensor x = uniform({count, width}, -9.0, 9.0, generator, DType::f64).to(dtype);
        const kernels::SummedRows got = cuda::sum_by_number_with(kHost, numbers, x, 60);
        const kernels::SummedRows expected = cpu::coalesce_kernels.sum_by_number(numbers, x, 60);
        expect_same(got.numbers, expected.numbers);
        expect_same(got.rows, expected.rows);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(no_rows_and_rows_without_elements_have_sums_too) {
  const kernels::SummedRows none = cuda::sum_by_number_with(kHost, zeros({0}, DType::i64), zeros({0, 3}), 5);
  BOOST_TEST(none.numbers.numel() == 0);
  const kernels::SummedRows thin =
      cuda::sum_by_number_with(kHost, from_values<std::int64_t>({4, 1, 4}), zeros({3, 0}), 5);
  expect_same(thin.numbers, from_values<std::int64_t>({1, 4}));
  BOOST_CHECK((thin.rows.shape() == Shape{2, 0}));
}

BOOST_AUTO_TEST_CASE(numbers_ascend_if_none_comes_twice_or_too_late) {
  BOOST_TEST(cuda::ascends_with(kHost, from_values<std::int64_t>({1, 4, 5})));
  BOOST_TEST(cuda::ascends_with(kHost, from_values<std::int64_t>({1})));
  BOOST_TEST(cuda::ascends_with(kHost, zeros({0}, DType::i64)));
  BOOST_TEST(!cuda::ascends_with(kHost, from_values<std::int64_t>({1, 4, 4})));
  BOOST_TEST(!cuda::ascends_with(kHost, from_values<std::int64_t>({1, 5, 4})));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
