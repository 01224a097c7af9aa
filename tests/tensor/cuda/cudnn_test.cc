// What cuDNN's statuses become. This needs neither the library nor a GPU.
#include "tensor/cuda/cudnn.h"

#include <boost/test/unit_test.hpp>

#include <string>

#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_cudnn)

#if CUDNN_MAJOR >= 9
constexpr cudnnStatus_t kNoMemory = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
#else
constexpr cudnnStatus_t kNoMemory = CUDNN_STATUS_ALLOC_FAILED;
#endif

BOOST_AUTO_TEST_CASE(status_without_memory_is_a_memory_error_and_no_other_is) {
  cuda::DnnFunctions functions{};
  functions.status_text = [](cudnnStatus_t status) { return status == kNoMemory ? "no memory" : "something else"; };
  const cuda::Dnn dnn(functions, 1);
  BOOST_CHECK_NO_THROW(dnn.require_success(CUDNN_STATUS_SUCCESS));
  testing::expect_throw<DeviceMemoryError>([&] { dnn.require_success(kNoMemory); }, "[convolution] cuda:1: no memory");
  testing::expect_throw<DeviceMemoryError>([&] { cuda::require_success(functions, kNoMemory); },
                                           "[convolution] no memory");
  BOOST_CHECK_EXCEPTION(dnn.require_success(CUDNN_STATUS_BAD_PARAM), DeviceError, [](const DeviceError& error) {
    return std::string(error.what()) == "[convolution] cuda:1: something else" &&
           dynamic_cast<const DeviceMemoryError*>(&error) == nullptr;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
