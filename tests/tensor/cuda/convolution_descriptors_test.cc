// Checks that cuDNN accepts our plans. This needs cuDNN but no GPU.
#include "tensor/cuda/convolution_descriptors.h"

#include <boost/test/unit_test.hpp>

#include "tensor/error.h"

namespace troupe {
namespace {

struct NeedsCudnn {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id /*unit*/) const {
    try {
      static_cast<void>(cuda::dnn_functions());
      return true;
    } catch (const DeviceError& error) {
      boost::test_tools::assertion_result loaded(false);
      loaded.message() << error.what();
      return loaded;
    }
  }
};

cuda::ConvolutionPlan plan_of(DType dtype, const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  return cuda::plan_convolution(dtype, x, weight, cuda::all_windows(x, weight, options), options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_convolution_descriptors, *boost::unit_test::precondition(NeedsCudnn{}))

BOOST_AUTO_TEST_CASE(cudnn_counts_the_windows_that_we_count) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    for (const auto& [x, weight, options] : {std::tuple<Shape, Shape, Conv2dOptions>{{2, 3, 9, 8}, {4, 3, 3, 3}, {}},
                                             {{2, 6, 9, 8}, {4, 3, 3, 2}, {{2, 1}, {1, 0}, {1, 3}, 2}},
                                             {{2, 4, 7, 7}, {4, 1, 2, 5}, {{3, 2}, {2, 4}, {2, 1}, 4}},
                                             {{1, 2, 1, 20}, {3, 2, 1, 5}, {{1, 4}, {0, 2}, {1, 2}, 1}}}) {
      const cuda::ConvolutionPlan plan = plan_of(dtype, x, weight, options);
      BOOST_TEST(cuda::ConvolutionDescriptors(cuda::dnn_functions(), plan).counted() == plan.y,
                 boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(what_cudnn_cannot_do_is_an_error_with_its_text) {
  cuda::ConvolutionPlan plan = plan_of(DType::f32, {2, 3, 9, 8}, {4, 3, 3, 3}, {});
  plan.stride = {0, 1};
  try {
    const cuda::ConvolutionDescriptors descriptors(cuda::dnn_functions(), plan);
    BOOST_ERROR("nothing thrown");
  } catch (const DeviceError& error) {
    BOOST_TEST(std::string(error.what()).starts_with("[convolution] CUDNN_STATUS_BAD_PARAM"));
  }
}

BOOST_AUTO_TEST_CASE(no_algorithm_is_taken_that_rounds_its_operands) {
  const cuda::ConvolutionDescriptors wide(cuda::dnn_functions(), plan_of(DType::f32, {2, 3, 9, 8}, {4, 3, 3, 3}, {}));
  BOOST_TEST(wide.is_exact(CUDNN_FMA_MATH));
  BOOST_TEST(!wide.is_exact(CUDNN_TENSOR_OP_MATH));
  BOOST_TEST(!wide.is_exact(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
  const cuda::ConvolutionDescriptors narrow(cuda::dnn_functions(),
                                            plan_of(DType::bf16, {2, 3, 9, 8}, {4, 3, 3, 3}, {}));
  BOOST_TEST(narrow.is_exact(CUDNN_TENSOR_OP_MATH));
  BOOST_TEST(!narrow.is_exact(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION));
  const cuda::ConvolutionDescriptors widest(cuda::dnn_functions(), plan_of(DType::f64, {2, 3, 9, 8}, {4, 3, 3, 3}, {}));
  BOOST_TEST(widest.is_exact(CUDNN_TENSOR_OP_MATH));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
