#include "tensor/cuda/cublas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

[[noreturn]] void fail_to_load() { throw DeviceError(fmt::format("[matmul] {}", dlerror())); }

template <class Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) fail_to_load();
}

BlasFunctions load_all() {
  const std::string name = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail_to_load();
  BlasFunctions functions{};
  load(library, "cublasCreate_v2", functions.create);
  load(library, "cublasSetStream_v2", functions.set_stream);
  load(library, "cublasSetMathMode", functions.set_math_mode);
  load(library, "cublasGetStatusString", functions.status_text);
  load(library, "cublasGemmStridedBatchedEx_64", functions.gemm);
  return functions;
}

const BlasFunctions& functions() {
  static const BlasFunctions loaded = load_all();
  return loaded;
}

struct Handles {
  std::mutex mutex;
  std::vector<std::unique_ptr<Blas>> of_gpu;
};

}  // namespace

void Blas::require_success(std::string_view op, cublasStatus_t status) const {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("[{}] {}: {}", op, to_string(Device::cuda(static_cast<std::int16_t>(index))), functions.status_text(status)));
}

const Blas& blas_of(int index) {
  // Never destroyed: the driver may have shut down before us.
  static Handles& all = *std::make_unique<Handles>().release();
  const std::lock_guard lock(all.mutex);
  const auto at = static_cast<std::size_t>(index);
  if (all.of_gpu.size() <= at) all.of_gpu.resize(at + 1);
  if (!all.of_gpu[at]) {
    const OnGpu gpu("matmul", index);
    auto blas = std::make_unique<Blas>(functions(), index);
    blas->require_success("matmul", blas->functions.create(&blas->handle));
    blas->require_success("matmul", blas->functions.set_stream(blas->handle, stream_of(index)));
    // Without TF32, and sums of 16-bit products stay in f32 to the end.
    const auto mode = static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
    blas->require_success("matmul", blas->functions.set_math_mode(blas->handle, mode));
    all.of_gpu[at] = std::move(blas);
  }
  return *all.of_gpu[at];
}

}  // namespace troupe::cuda
