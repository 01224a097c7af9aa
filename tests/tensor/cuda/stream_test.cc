// What the runtime's statuses become. This needs no GPU.
#include "tensor/cuda/stream.h"

#include <boost/test/unit_test.hpp>

#include "tensor/error.h"
#include "tests/support/expect_throw.h"

namespace troupe {

BOOST_AUTO_TEST_SUITE(cuda_stream)

constexpr int kInvalidValue = 1;  // of cudaError_t
constexpr int kMemoryAllocation = 2;

BOOST_AUTO_TEST_CASE(status_without_memory_is_a_memory_error_and_no_other_is) {
  BOOST_CHECK_NO_THROW(cuda::require_success("launch", 1, 0));
  testing::expect_throw<DeviceMemoryError>([] { cuda::require_success("launch", 1, kMemoryAllocation); },
                                           "[launch] cuda:1: out of memory");
  BOOST_CHECK_EXCEPTION(cuda::require_success("launch", 1, kInvalidValue), DeviceError, [](const DeviceError& error) {
    return std::string(error.what()) == "[launch] cuda:1: invalid argument" &&
           dynamic_cast<const DeviceMemoryError*>(&error) == nullptr;
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
