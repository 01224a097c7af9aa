// cuBLAS, loaded on demand: a program that multiplies no matrices on a GPU also starts without the library.
#pragma once

#include <cublas_v2.h>

#include <mutex>
#include <string_view>

namespace troupe::cuda {

/// The functions used.
struct BlasFunctions {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasGetStatusString) status_text;
  decltype(&cublasGemmStridedBatchedEx_64) gemm;
};

/// A handle for one GPU, on its stream. Guarded by `mutex`, which the caller holds.
struct Blas {
  const BlasFunctions& functions;
  int index;
  cublasHandle_t handle = nullptr;
  mutable std::mutex mutex;

  Blas(const BlasFunctions& functions_in, int index_in) : functions(functions_in), index(index_in) {}

  /// Throws DeviceError `[op] cuda:0: the function failed to launch on the GPU`, of the kind DeviceMemoryError if
  /// cuBLAS has found no memory.
  void require_success(std::string_view op, cublasStatus_t status) const;
};

/// Returns the handle of GPU `index`. It is created at the first call and never destroyed. Thread-safe. Throws
/// DeviceError if cuBLAS is missing or fails.
[[nodiscard]] const Blas& blas_of(int index);

}  // namespace troupe::cuda
