#include "tensor/cuda/memory.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "tensor/cuda/driver.h"
#include "tensor/cuda/event.h"
#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

/// Also clears the thread's error, else a later call would return it.
std::string text_of(cudaError_t error) {
  static_cast<void>(cudaGetLastError());
  return cudaGetErrorString(error);
}

// Between two GPUs: each stream waits for the other, so the copy is in the order of both.
cudaError_t copy_between(std::byte* to, int to_index, const std::byte* from, int from_index, std::size_t size) {
  Event(to_index).wait_on(from_index);
  const OnGpu gpu("copy", from_index);
  const cudaError_t error = cudaMemcpyPeerAsync(to, to_index, from, from_index, size, stream_of(from_index));
  if (error == cudaSuccess) Event(from_index).wait_on(to_index);
  return error;
}

// To or from the CPU. For pageable memory cudaMemcpyAsync returns when the copy is done, for pinned memory before, so
// this waits.
cudaError_t copy_with_cpu(std::byte* to, const std::byte* from, std::size_t size, int index) {
  const OnGpu gpu("copy", index);
  const cudaError_t error = cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, stream_of(index));
  if (error == cudaSuccess) Event(index).synchronize();
  return error;
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

bool is_in_use(int index) {
  static const auto state = driver_function<decltype(&cuDevicePrimaryCtxGetState)>("cuDevicePrimaryCtxGetState", 7000);
  unsigned flags = 0;
  int active = 0;
  return state != nullptr && state(index, &flags, &active) == CUDA_SUCCESS && active != 0;
}

std::byte* allocate(int index, std::size_t size) {
  const OnGpu gpu("allocate", index);
  const cudaStream_t stream = stream_of(index);
  void* block = nullptr;
  const cudaError_t error = with_room(
      room_of(index), [&] { return cudaMallocAsync(&block, std::max<std::size_t>(size, 1), stream); },
      [](cudaError_t status) { return status == cudaErrorMemoryAllocation; });
  if (error == cudaSuccess) return static_cast<std::byte*>(block);
  throw_failure(error, fmt::format("[allocate] {} bytes on {}: {}", size,
                                   to_string(Device::cuda(static_cast<std::int16_t>(index))), text_of(error)));
}

void deallocate(int index, std::byte* block) noexcept {
  try {
    const OnGpu gpu("deallocate", index);
    if (cudaFreeAsync(block, stream_of(index)) != cudaSuccess) static_cast<void>(cudaGetLastError());
  } catch (const DeviceError&) {
    // The driver has already shut down and released the memory.
  }
}

void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size) {
  if (size == 0) return;
  const bool to_gpu = to_device.kind == DeviceKind::cuda;
  cudaError_t error = cudaSuccess;
  if (to_gpu && to_device == from_device) {
    const OnGpu gpu("copy", to_device.index);
    error = cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream_of(to_device.index));
  } else if (to_gpu && from_device.kind == DeviceKind::cuda) {
    error = copy_between(to, to_device.index, from, from_device.index, size);
  } else {
    error = copy_with_cpu(to, from, size, to_gpu ? to_device.index : from_device.index);
  }
  if (error == cudaSuccess) return;
  throw_failure(error, fmt::format("[copy] {} bytes from {} to {}: {}", size, to_string(from_device),
                                   to_string(to_device), text_of(error)));
}

void synchronize(int index) {
  const OnGpu gpu("synchronize", index);
  require_success("synchronize", index, cudaStreamSynchronize(stream_of(index)));
}

}  // namespace troupe::cuda
