// What cuDNN's statuses become. This needs neither the library nor a GPU.
#include "tensor/cuda/cudnn.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

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

/// A cuDNN that starts where its GPU has room.
struct FakeDnn {
  FakeDnn() { called = this; }
  FakeDnn(const FakeDnn&) = delete;
  FakeDnn& operator=(const FakeDnn&) = delete;
  ~FakeDnn() { called = nullptr; }

  static cudnnStatus_t create(cudnnHandle_t* handle) {
    ++called->created;
    if (called->free == 0 || !called->starts) return called->not_made;
    *handle = reinterpret_cast<cudnnHandle_t>(called);
    return CUDNN_STATUS_SUCCESS;
  }
  static cudnnStatus_t destroy(cudnnHandle_t handle) {
    BOOST_TEST(handle == reinterpret_cast<cudnnHandle_t>(called));
    ++called->destroyed;
    return CUDNN_STATUS_SUCCESS;
  }
  [[nodiscard]] std::unique_ptr<cuda::Dnn> make() {
    functions.create = create;
    functions.destroy = destroy;
    functions.set_stream = [](cudnnHandle_t, cudaStream_t) { return called->stream_is_set; };
    functions.status_text = [](cudnnStatus_t) { return "it failed"; };
    return cuda::make_dnn(
        functions, 1, nullptr,
        {.make = [this] { free += std::exchange(kept, 0); }, .is_lacking = [this] { return free == 0; }});
  }

  static inline FakeDnn* called = nullptr;  // the library's functions have no other argument
  cuda::DnnFunctions functions{};
  int free = 1;
  int kept = 0;
  int created = 0;
  int destroyed = 0;
  bool starts = true;
  cudnnStatus_t not_made = CUDNN_STATUS_NOT_INITIALIZED;
  cudnnStatus_t stream_is_set = CUDNN_STATUS_SUCCESS;
};

BOOST_AUTO_TEST_CASE(handle_is_made_in_the_memory_that_the_pool_gives_back) {
  for (const cudnnStatus_t status : {CUDNN_STATUS_NOT_INITIALIZED, kNoMemory}) {
    FakeDnn library;
    library.free = 0;
    library.kept = 1;
    library.not_made = status;
    BOOST_TEST(library.make()->handle != nullptr);
    BOOST_TEST(library.created == 2);
    BOOST_TEST(library.destroyed == 1);  // with its owner
  }
}

BOOST_AUTO_TEST_CASE(library_that_does_not_start_on_a_full_gpu_lacks_memory) {
  FakeDnn library;
  library.free = 0;
  testing::expect_throw<DeviceMemoryError>([&] { std::ignore = library.make(); }, "[convolution] cuda:1: it failed");
  BOOST_TEST(library.created == 2);
  BOOST_TEST(library.destroyed == 0);
}

BOOST_AUTO_TEST_CASE(library_that_does_not_start_beside_free_memory_lacks_something_else) {
  for (const cudnnStatus_t status : {CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_BAD_PARAM}) {
    FakeDnn library;
    library.starts = false;
    library.not_made = status;
    BOOST_CHECK_EXCEPTION(std::ignore = library.make(), DeviceError, [](const DeviceError& error) {
      return dynamic_cast<const DeviceMemoryError*>(&error) == nullptr;
    });
    BOOST_TEST(library.created == (status == CUDNN_STATUS_NOT_INITIALIZED ? 2 : 1));
  }
}

BOOST_AUTO_TEST_CASE(handle_that_cannot_be_set_up_is_destroyed) {
  FakeDnn library;
  library.stream_is_set = CUDNN_STATUS_BAD_PARAM;
  BOOST_CHECK_THROW(std::ignore = library.make(), DeviceError);
  BOOST_TEST(library.destroyed == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
