#include "tensor/cuda/shared_memory.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>

#include "tensor/cuda/driver.h"
#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

static_assert(sizeof(cudaIpcMemHandle_t) == sizeof(BlockHandle));

bool succeeded(cudaError_t error) {
  if (error == cudaSuccess) return true;
  static_cast<void>(cudaGetLastError());  // a later call would return it
  return false;
}

/// Returns the size of the block that begins at `block`; 0 if the driver does not say it.
std::size_t size_of(const void* block) {
  static const auto range = driver_function<decltype(&cuMemGetAddressRange)>("cuMemGetAddressRange", 3020);
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  const auto at = reinterpret_cast<CUdeviceptr>(block);
  return range != nullptr && range(&begin, &size, at) == CUDA_SUCCESS && begin == at ? size : 0;
}

}  // namespace

std::shared_ptr<const SharedBlock> SharedBlock::make(int index, std::size_t size) try {
  const OnGpu gpu("share", index);
  void* block = nullptr;
  const cudaError_t error = with_room(
      room_of(index), [&] { return cudaMalloc(&block, size); },
      [](cudaError_t status) { return status == cudaErrorMemoryAllocation; });
  if (!succeeded(error)) return nullptr;
  cudaIpcMemHandle_t driver{};
  if (!succeeded(cudaIpcGetMemHandle(&driver, block))) {
    static_cast<void>(succeeded(cudaFree(block)));
    return nullptr;
  }
  BlockHandle handle{};
  std::memcpy(handle.data(), &driver, sizeof driver);
  return std::make_shared<const SharedBlock>(index, std::span(static_cast<std::byte*>(block), size), handle);
} catch (const DeviceError&) {
  return nullptr;
}

SharedBlock::~SharedBlock() {
  try {
    const OnGpu gpu("share", index_);
    static_cast<void>(succeeded(cudaFree(bytes_.data())));
  } catch (const DeviceError&) {
    // The driver has already shut down and released the memory.
  }
}

std::shared_ptr<const ForeignBlock> ForeignBlock::open(int index, const BlockHandle& handle) try {
  const OnGpu gpu("share", index);
  cudaIpcMemHandle_t driver{};
  std::memcpy(&driver, handle.data(), sizeof driver);
  void* block = nullptr;
  if (!succeeded(cudaIpcOpenMemHandle(&block, driver, cudaIpcMemLazyEnablePeerAccess))) return nullptr;
  return std::make_shared<const ForeignBlock>(index, std::span(static_cast<const std::byte*>(block), size_of(block)));
} catch (const DeviceError&) {
  return nullptr;
}

ForeignBlock::~ForeignBlock() {
  try {
    const OnGpu gpu("share", index_);
    static_cast<void>(succeeded(cudaIpcCloseMemHandle(const_cast<std::byte*>(bytes_.data()))));
  } catch (const DeviceError&) {
    // The driver has already shut down, and nothing is open.
  }
}

std::string uuid_of(int index) {
  cudaDeviceProp properties{};
  if (!succeeded(cudaGetDeviceProperties(&properties, index))) return {};
  std::string text;
  for (const char byte : properties.uuid.bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

}  // namespace troupe::cuda
