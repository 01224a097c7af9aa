#include "tensor/ops/global_norm.h"

#include <limits>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tests/tensor/cuda/on_gpu.h"

namespace troupe {
BOOST_AUTO_TEST_SUITE(cuda_global_norm, *boost::unit_test::precondition(testing::NeedsGpus{1}))

namespace {

using testing::kFloats;
using testing::kGpu;
using testing::layouts_of;
using testing::NeedsGpus;

}  // namespace

BOOST_AUTO_TEST_CASE(the_size_of_tensors_of_all_dtypes_and_layouts_is_close_to_the_cpus) {
  std::vector<Tensor> here;
  std::vector<Tensor> there;
  for (const DType dtype : kFloats) {
    Generator generator(3);
    for (const Tensor& x : layouts_of(uniform({14, 15, 160}, -3.0, 2.0, generator, dtype))) {
      here.push_back(x);
      there.push_back(x.to(kGpu));
    }
  }
  for (const double p : {1.0, 2.0, 3.0, std::numeric_limits<double>::infinity()}) {
    BOOST_TEST(global_norm(there, p) == global_norm(here, p), boost::test_tools::tolerance(1e-12));
  }
}

BOOST_AUTO_TEST_CASE(tensors_on_two_devices_have_no_common_size) {
  const std::vector<Tensor> xs{ones({2}).to(kGpu), ones({2})};
  expect_error<DeviceError>("[global_norm] devices differ: cuda:0 and cpu", [&] { (void)global_norm(xs); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
