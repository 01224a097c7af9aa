// cuBLAS, loaded when it is needed: a program that multiplies nothing on a GPU starts without it, also where it is not.
#pragma once

#include <cublas_v2.h>

#include <mutex>
#include <string_view>

namespace troupe::cuda {

/// What is used of it.
struct BlasFunctions {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasGetStatusString) status_text;
  decltype(&cublasGemmStridedBatchedEx_64) gemm;
};

/// A handle for one GPU, on its stream; whoever uses it holds the mutex.
struct Blas {
  const BlasFunctions& functions;
  int index;
  cublasHandle_t handle = nullptr;
  mutable std::mutex mutex;

  Blas(const BlasFunctions& functions_in, int index_in) : functions(functions_in), index(index_in) {}

  /// Throws DeviceError `[op] cuda:0: the function failed to launch on the GPU`.
  void require_success(std::string_view op, cublasStatus_t status) const;
};

/// Returns that of GPU `index`, made when it is asked for the first time, and never destroyed. Any thread.
/// Throws DeviceError if there is no cuBLAS, or it does not work.
[[nodiscard]] const Blas& blas_of(int index);

}  // namespace troupe::cuda
