// Memory of GPUs. No CUDA header: memory.cc is built where the toolkit is, memory_without.cc elsewhere.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/device.h"

namespace troupe::cuda {

/// Returns how many GPUs this process can use; 0 also where there is no driver or no CUDA in this build. Any thread.
[[nodiscard]] int device_count();

/// Returns why GPU `index` cannot be used, or nothing: "built without CUDA", "no CUDA-capable device is detected",
/// "this process has 2 GPUs". Any thread.
[[nodiscard]] std::string why_unavailable(int index);

/// Returns `size` uninitialised bytes of GPU `index`, aligned to 256; never null. Any thread.
/// Throws DeviceError `[allocate] 4096 bytes on cuda:0: out of memory`.
[[nodiscard]] std::byte* allocate(int index, std::size_t size);

/// Takes back what `allocate(index, ...)` returned. Any thread.
void deallocate(int index, std::byte* block) noexcept;

/// Copies between memory of two devices, one or both of them GPUs, and waits until it is done. Any thread.
/// Throws DeviceError `[copy] 4096 bytes from cuda:0 to cpu: invalid argument`.
void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size);

}  // namespace troupe::cuda
