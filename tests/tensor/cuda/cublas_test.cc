// What cuBLAS' statuses become. This needs neither the library nor a GPU.
#include "tensor/cuda/cublas.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

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

/// A cuBLAS that starts where its GPU has room.
struct FakeBlas {
  FakeBlas() { called = this; }
  FakeBlas(const FakeBlas&) = delete;
  FakeBlas& operator=(const FakeBlas&) = delete;
  ~FakeBlas() { called = nullptr; }

  static cublasStatus_t create(cublasHandle_t* handle) {
    ++called->created;
    if (called->free == 0 || !called->starts) return called->not_made;
    *handle = reinterpret_cast<cublasHandle_t>(called);
    return CUBLAS_STATUS_SUCCESS;
  }
  static cublasStatus_t destroy(cublasHandle_t handle) {
    BOOST_TEST(handle == reinterpret_cast<cublasHandle_t>(called));
    ++called->destroyed;
    return CUBLAS_STATUS_SUCCESS;
  }
  [[nodiscard]] std::unique_ptr<cuda::Blas> make() {
    functions.create = create;
    functions.destroy = destroy;
    functions.set_stream = [](cublasHandle_t, cudaStream_t) { return called->stream_is_set; };
    functions.set_math_mode = [](cublasHandle_t, cublasMath_t) { return called->mode_is_set; };
    functions.status_text = [](cublasStatus_t) { return "it failed"; };
    return cuda::make_blas(
        functions, 1, nullptr,
        {.make = [this] { free += std::exchange(kept, 0); }, .is_lacking = [this] { return free == 0; }});
  }

  static inline FakeBlas* called = nullptr;  // the library's functions have no other argument
  cuda::BlasFunctions functions{};
  int free = 1;
  int kept = 0;
  int created = 0;
  int destroyed = 0;
  bool starts = true;
  cublasStatus_t not_made = CUBLAS_STATUS_NOT_INITIALIZED;
  cublasStatus_t stream_is_set = CUBLAS_STATUS_SUCCESS;
  cublasStatus_t mode_is_set = CUBLAS_STATUS_SUCCESS;
};

BOOST_AUTO_TEST_CASE(handle_is_made_in_the_memory_that_the_pool_gives_back) {
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ALLOC_FAILED}) {
    FakeBlas library;
    library.free = 0;
    library.kept = 1;
    library.not_made = status;
    BOOST_TEST(library.make()->handle != nullptr);
    BOOST_TEST(library.created == 2);
    BOOST_TEST(library.destroyed == 1);  // with its owner
  }
}

BOOST_AUTO_TEST_CASE(library_that_does_not_start_on_a_full_gpu_lacks_memory) {
  FakeBlas library;
  library.free = 0;
  testing::expect_throw<DeviceMemoryError>([&] { std::ignore = library.make(); }, "[matmul] cuda:1: it failed");
  BOOST_TEST(library.created == 2);
  BOOST_TEST(library.destroyed == 0);
}

BOOST_AUTO_TEST_CASE(library_that_does_not_start_beside_free_memory_lacks_something_else) {
  for (const cublasStatus_t status : {CUBLAS_STATUS_NOT_INITIALIZED, CUBLAS_STATUS_ARCH_MISMATCH}) {
    FakeBlas library;
    library.starts = false;
    library.not_made = status;
    BOOST_CHECK_EXCEPTION(std::ignore = library.make(), DeviceError, [](const DeviceError& error) {
      return dynamic_cast<const DeviceMemoryError*>(&error) == nullptr;
    });
    BOOST_TEST(library.created == (status == CUBLAS_STATUS_NOT_INITIALIZED ? 2 : 1));
  }
}

BOOST_AUTO_TEST_CASE(handle_that_cannot_be_set_up_is_destroyed) {
  FakeBlas library;
  library.stream_is_set = CUBLAS_STATUS_MAPPING_ERROR;
  BOOST_CHECK_THROW(std::ignore = library.make(), DeviceError);
  BOOST_TEST(library.destroyed == 1);
  library.stream_is_set = CUBLAS_STATUS_SUCCESS;
  library.mode_is_set = CUBLAS_STATUS_INVALID_VALUE;
  BOOST_CHECK_THROW(std::ignore = library.make(), DeviceError);
  BOOST_TEST(library.destroyed == 2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace troupe
