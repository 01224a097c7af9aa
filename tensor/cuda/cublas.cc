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
  library.load("cublasDestroy_v2", functions.destroy);
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
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw DeviceMemoryError(text_of(op, status));
  throw DeviceError(text_of(op, status));
}

std::string Blas::text_of(std::string_view op, cublasStatus_t status) const {
  return fmt::format("[{}] {}: {}", op, to_string(Device::cuda(static_cast<std::int16_t>(index))),
                     functions.status_text(status));
}

std::unique_ptr<Blas> make_blas(const BlasFunctions& functions, int index, CUstream_st* stream, const Room& room) {
  constexpr const char* kOp = "matmul";
  auto blas = std::make_unique<Blas>(functions, index);
  cublasHandle_t handle = nullptr;
  const cublasStatus_t status = with_room(
      room, [&] { return functions.create(&handle); },
      [](cublasStatus_t made) { return made == CUBLAS_STATUS_ALLOC_FAILED || made == CUBLAS_STATUS_NOT_INITIALIZED; });
  if (status == CUBLAS_STATUS_NOT_INITIALIZED && room.is_lacking()) throw DeviceMemoryError(blas->text_of(kOp, status));
  blas->require_success(kOp, status);
  blas->handle = handle;
  blas->require_success(kOp, functions.set_stream(handle, stream));
  // No TF32; sums of 16-bit products stay in f32 to the end.
  const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  blas->require_success(kOp, functions.set_math_mode(handle, mode));
  return blas;
}

const Blas& blas_of(int index) {
  // Never destroyed: the driver may have shut down earlier.
  static OneForEachGpu<Blas>& all = *std::make_unique<OneForEachGpu<Blas>>().release();
  return all.at(index, [index] {
    const OnGpu gpu("matmul", index);
    return make_blas(functions(), index, stream_of(index), room_of(index));
  });
}

}  // namespace troupe::cuda
