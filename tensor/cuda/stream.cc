#include "tensor/cuda/stream.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "tensor/cuda/memory.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

struct Streams {
  std::mutex mutex;
  std::vector<cudaStream_t> of_gpu;
};

Streams& streams() {
  // Never destroyed: tensors in static variables may be freed after all our statics.
  static Streams& all = *std::make_unique<Streams>().release();
  return all;
}

// Keeps freed memory in the GPU's pool of the driver, which serves later requests of the stream from it.
void keep_freed_memory(int index) {
  cudaMemPool_t pool = nullptr;
  require_success("stream", index, cudaDeviceGetDefaultMemPool(&pool, index));
  auto all = std::numeric_limits<std::uint64_t>::max();
  require_success("stream", index, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
}

// A library of NVIDIA takes this much when it starts, for its kernels and its workspace.
constexpr std::size_t kBytesOfLibrary = std::size_t{256} << 20U;

// A failure is left to the request that follows.
void release_freed_memory(int index) {
  static_cast<void>(cudaGetLastError());
  cudaMemPool_t pool = nullptr;
  const bool released = cudaStreamSynchronize(stream_of(index)) == cudaSuccess &&
                        cudaDeviceGetDefaultMemPool(&pool, index) == cudaSuccess &&
                        cudaMemPoolTrimTo(pool, 0) == cudaSuccess;
  if (!released) static_cast<void>(cudaGetLastError());
}

bool is_room_lacking() {
  std::size_t free = 0;
  std::size_t all = 0;
  if (cudaMemGetInfo(&free, &all) == cudaSuccess) return free < kBytesOfLibrary;
  static_cast<void>(cudaGetLastError());
  return false;
}

}  // namespace

OnGpu::OnGpu(std::string_view op, int index) : index_(index) {
  static_cast<void>(cudaGetDevice(&former_));
  if (former_ != index) require_success(op, index, cudaSetDevice(index));
}

OnGpu::~OnGpu() {
  // To choose a GPU makes a context there, which takes hundreds of MB.
  if (former_ != index_ && is_in_use(former_)) static_cast<void>(cudaSetDevice(former_));
}

cudaStream_t stream_of(int index) {
  Streams& all = streams();
  const std::lock_guard lock(all.mutex);
  const auto at = static_cast<std::size_t>(index);
  if (all.of_gpu.size() <= at) all.of_gpu.resize(at + 1, nullptr);
  if (all.of_gpu[at] == nullptr) {
    const OnGpu gpu("stream", index);
    keep_freed_memory(index);
    require_success("stream", index, cudaStreamCreateWithFlags(&all.of_gpu[at], cudaStreamNonBlocking));
  }
  return all.of_gpu[at];
}

Room room_of(int index) {
  return {.make = [index] { release_freed_memory(index); }, .is_lacking = is_room_lacking};
}

void throw_failure(int status, const std::string& text) {
  if (status == cudaErrorMemoryAllocation) throw DeviceMemoryError(text);
  throw DeviceError(text);
}

void require_success(std::string_view op, int index, int status) {
  if (status == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears the error, else a later call would return it
  const std::string gpu = to_string(Device::cuda(static_cast<std::int16_t>(index)));
  throw_failure(status, fmt::format("[{}] {}: {}", op, gpu, cudaGetErrorString(static_cast<cudaError_t>(status))));
}

}  // namespace troupe::cuda
