// What cuBLAS' statuses become. This needs neither the library nor a GPU.
#include "tensor/cuda/cublas.h"

#include <boost/test/unit_test.hpp>

#include <string>

#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_cublas)

BOOST_AUTO_TEST_CASE(status_without_memory_is_a_memory_error_and_no_other_is) {
  cuda::BlasFunctions functions{};
  functions.status_text = [](cublasStatus_t status) {
    return status == CUBLAS_STATUS_ALLOC_FAILED ? "no memory" : "something else";
  };
  const cuda::Blas blas(functions, 1);
  BOOST_CHECK_NO_THROW(blas.require_success("matmul", CUBLAS_STATUS_SUCCESS));
  testing::expect_throw<DeviceMemoryError>([&] { blas.require_success("matmul", CUBLAS_STATUS_ALLOC_FAILED); },
                                           "[matmul] cuda:1: no memory");
  BOOST_CHECK_EXCEPTION(blas.require_success("matmul", CUBLAS_STATUS_EXECUTION_FAILED), DeviceError,
                        [](const DeviceError& error) {
                          return std::string(error.what()) == "[matmul] cuda:1: something else" &&
                                 dynamic_cast<const DeviceMemoryError*>(&error) == nullptr;
                        });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
