// Runs the body of the GPU kernel on the CPU and compares it with the CPU kernel.
#include "tensor/cuda/search_kernels.h"

#include "tensor/create.h"
#include "tensor/kernels/search.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/host_launcher.h"
#include "tests/tensor/expect.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_search_kernels)

BOOST_AUTO_TEST_CASE(values_belong_where_the_cpu_has_them) {
  const testing::HostLauncher host;
  Generator generator(1);
  for (const DType dtype : {DType::i32, DType::i64, DType::f32, DType::f64}) {
    for (const std::int64_t size : {0, 1, 2, 37}) {
      // Whole numbers, some of them equal.
      const Tensor sorted = sort(floor(uniform({3, size}, -9.0, 9.0, generator, DType::f64))).values.to(dtype);
      const Tensor values = floor(uniform({3, 50}, -10.0, 11.0, generator, DType::f64)).to(dtype);
      for (const Side side : {Side::left, Side::right}) {
        Tensor got = Tensor::empty({3, 50}, DType::i64);
        Tensor expected = Tensor::empty({3, 50}, DType::i64);
        cuda::search_with(host, got, sorted, values, side);
        cpu::search_kernels.search(expected, sorted, values, side);
        expect_same(got, expected);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
