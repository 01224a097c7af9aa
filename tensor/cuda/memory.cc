#include "tensor/cuda/memory.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "tensor/error.h"

namespace troupe::cuda {
namespace {

/// Makes a GPU the calling thread's own, and gives it back the former.
class OnGpu {
 public:
  explicit OnGpu(int index) {
    static_cast<void>(cudaGetDevice(&former_));
    if (former_ != index) error_ = cudaSetDevice(index);
  }
  ~OnGpu() { static_cast<void>(cudaSetDevice(former_)); }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;

  [[nodiscard]] cudaError_t error() const noexcept { return error_; }

 private:
  int former_ = 0;
  cudaError_t error_ = cudaSuccess;
};

int gpu_of(Device to, Device from) { return to.kind == DeviceKind::cuda ? to.index : from.index; }

/// The error stays with the thread otherwise, and a later, innocent call would return it.
std::string text_of(cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  return cudaGetErrorString(error);
}

}  // namespace

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  static_cast<void>(cudaGetLastError());
  return 0;
}

std::string why_unavailable(int index) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) return text_of(error);
  if (count == 0) return "this process has no GPU";
  if (index >= 0 && index < count) return {};
  return count == 1 ? "this process has one GPU" : fmt::format("this process has {} GPUs", count);
}

std::byte* allocate(int index, std::size_t size) {
  const OnGpu gpu(index);
  void* block = nullptr;
  cudaError_t error = gpu.error();
  if (error == cudaSuccess) error = cudaMalloc(&block, std::max<std::size_t>(size, 1));
  if (error == cudaSuccess) return static_cast<std::byte*>(block);
  throw DeviceError(fmt::format("[allocate] {} bytes on {}: {}", size, to_string(Device::cuda(static_cast<std::int16_t>(index))), text_of(error)));
}

void deallocate(int index, std::byte* block) noexcept {
  const OnGpu gpu(index);
  if (cudaFree(block) != cudaSuccess) static_cast<void>(cudaGetLastError());  // the driver has shut down before us
}

void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size) {
  if (size == 0) return;
  const OnGpu gpu(gpu_of(to_device, from_device));
  cudaError_t error = gpu.error();
  if (error == cudaSuccess) error = cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, cudaStreamPerThread);
  if (error == cudaSuccess) error = cudaStreamSynchronize(cudaStreamPerThread);
  if (error == cudaSuccess) return;
  throw DeviceError(fmt::format("[copy] {} bytes from {} to {}: {}", size, to_string(from_device), to_string(to_device), text_of(error)));
}

}  // namespace troupe::cuda
