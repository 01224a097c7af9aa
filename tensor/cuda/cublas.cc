#include "tensor/cuda/cublas.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "tensor/cuda/library.h"
#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

BlasFunctions load_all() {
  const Library library("matmul", fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR));
  BlasFunctions functions{};
  library.load("cublasCreate_v2", functions.create);
  library.load("cublasSetStream_v2", functions.set_stream);
  library.load("cublasSetMathMode", functions.set_math_mode);
  library.load("cublasGetStatusString", functions.status_text);
  library.load("cublasGemmStridedBatchedEx_64", functions.gemm);
  return functions;
}

const BlasFunctions& functions() {
  static const BlasFunctions loaded = load_all();
  return loaded;
}

}  // namespace

void Blas::require_success(std::string_view op, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string text = fmt::format("[{}] {}: {}", op, to_string(Device::cuda(static_cast<std::int16_t>(index))),
                                       functions.status_text(status));
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw DeviceMemoryError(text);
  throw DeviceError(text);
}

const Blas& blas_of(int index) {
  // Never destroyed: the driver may have shut down earlier.
  static OneForEachGpu<Blas>& all = *std::make_unique<OneForEachGpu<Blas>>().release();
  return all.at(index, [index] {
    const OnGpu gpu("matmul", index);
    auto blas = std::make_unique<Blas>(functions(), index);
    blas->require_success("matmul", blas->functions.create(&blas->handle));
    blas->require_success("matmul", blas->functions.set_stream(blas->handle, stream_of(index)));
    // No TF32; sums of 16-bit products stay in f32 to the end.
    const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    blas->require_success("matmul", blas->functions.set_math_mode(blas->handle, mode));
    return blas;
  });
}

}  // namespace troupe::cuda
