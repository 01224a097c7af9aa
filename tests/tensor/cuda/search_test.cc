#include "tensor/kernels/search.h"

#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_search, *boost::unit_test::precondition(testing::NeedsGpus{1}))

BOOST_AUTO_TEST_CASE(values_belong_where_the_cpu_has_them) {
  Generator generator(1);
  for (const DType dtype : kDTypes) {
    const Tensor sorted = sort(floor(uniform({3, 1000}, 0.0, 99.0, generator, DType::f64))).values.to(dtype);
    const Tensor values = floor(uniform({3, 2000}, 0.0, 99.0, generator, DType::f64)).to(dtype);
    for (const Side side : {Side::left, Side::right}) {
      testing::expect_same_on_gpu([side](const Tensor& x, const Tensor& y) { return searchsorted(x, y, side); }, sorted,
                                  values);
      testing::expect_same_on_gpu([side](const Tensor& x, const Tensor& y) { return bucketize(y, x, side); },
                                  sorted.select(0, 1), values);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
