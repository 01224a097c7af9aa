// cuBLAS, loaded on demand: a program that multiplies no matrices on a GPU also starts without the library.
#pragma once

#include <cublas_v2.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tensor/cuda/room.h"

namespace troupe::cuda {

/// The functions used.
struct BlasFunctions {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetMathMode) set_math_mode;
  decltype(&cublasGetStatusString) status_text;
  decltype(&cublasGemmStridedBatchedEx_64) gemm;
};

/// A handle for one GPU, on its stream. Guarded by `mutex`, which the caller holds. Owns the handle.
struct Blas {
  const BlasFunctions& functions;
  int index;
  cublasHandle_t handle = nullptr;
  mutable std::mutex mutex;

  Blas(const BlasFunctions& functions_in, int index_in) : functions(functions_in), index(index_in) {}
  ~Blas() {
    if (handle != nullptr) static_cast<void>(functions.destroy(handle));
  }
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  /// Throws DeviceError `[op] cuda:0: the function failed to launch on the GPU`, of the kind DeviceMemoryError if
  /// cuBLAS has found no memory.
  void require_success(std::string_view op, cublasStatus_t status) const;
  [[nodiscard]] std::string text_of(std::string_view op, cublasStatus_t status) const;
};

/// Returns a handle for GPU `index` on `stream`. If cuBLAS finds no memory, or is not initialized, as it may say of a
/// full GPU, makes room and tries once more. Throws as require_success(); DeviceMemoryError too if it is not
/// initialized while room is lacking. REQUIRES: GPU `index` is the thread's current device.
[[nodiscard]] std::unique_ptr<Blas> make_blas(const BlasFunctions& functions, int index, CUstream_st* stream,
                                              const Room& room);

/// Returns the handle of GPU `index`. It is created at the first call and never destroyed. Thread-safe. Throws
/// DeviceError if cuBLAS is missing or fails.
[[nodiscard]] const Blas& blas_of(int index);

}  // namespace troupe::cuda
