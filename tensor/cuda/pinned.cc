#include "tensor/cuda/pinned.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "tensor/cuda/stream.h"

namespace troupe::cuda {

PinnedMemory::PinnedMemory(std::size_t size) : size_(size) {
  void* block = nullptr;
  require_success("pinned", 0, cudaHostAlloc(&block, std::max<std::size_t>(size, 1), cudaHostAllocPortable));
  data_ = static_cast<std::byte*>(block);
}

PinnedMemory::~PinnedMemory() { static_cast<void>(cudaFreeHost(data_)); }

Event PinnedMemory::copy_to(int index, std::byte* to, std::size_t size) const {
  const OnGpu gpu("copy", index);
  require_success("copy", index, cudaMemcpyAsync(to, data_, size, cudaMemcpyHostToDevice, stream_of(index)));
  return Event(index);
}

Event PinnedMemory::copy_from(int index, const std::byte* from, std::size_t size) const {
  const OnGpu gpu("copy", index);
  require_success("copy", index, cudaMemcpyAsync(data_, from, size, cudaMemcpyDeviceToHost, stream_of(index)));
  return Event(index);
}

}  // namespace troupe::cuda
