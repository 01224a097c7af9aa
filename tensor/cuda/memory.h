// Memory of GPUs. Includes no CUDA header: memory.cc is built with the CUDA toolkit, memory_without.cc without it.
#pragma once

#include <cstddef>
#include <string>

#include "tensor/device.h"

namespace troupe::cuda {

/// Returns the number of usable GPUs; 0 without a driver or without CUDA in this build. Thread-safe.
[[nodiscard]] int device_count();

/// Returns why GPU `index` cannot be used, or an empty string: "built without CUDA", "no CUDA-capable device is
/// detected", "this process has 2 GPUs". Thread-safe.
[[nodiscard]] std::string why_unavailable(int index);

/// Returns whether this process has a context on GPU `index`: its first work there makes one, which takes hundreds of
/// MB of the GPU. Thread-safe.
[[nodiscard]] bool is_in_use(int index);

/// Returns `size` uninitialized bytes of GPU `index`, aligned to 256; never null. If there are none, waits for the GPU,
/// has its pool give back what was freed, and requests them once more. Thread-safe. Throws DeviceError, of the kind
/// DeviceMemoryError for `[allocate] 4096 bytes on cuda:0: out of memory`.
[[nodiscard]] std::byte* allocate(int index, std::size_t size);

/// Frees a block that `allocate(index, ...)` returned. Thread-safe.
void deallocate(int index, std::byte* block) noexcept;

/// Copies between two devices, at least one of them a GPU. A copy from or to the CPU waits until it is done; others
/// return at once, in the order of the streams. Thread-safe. Throws DeviceError `[copy] 4096 bytes from cuda:0 to cpu:
/// invalid argument`, of the kind DeviceMemoryError where memory is missing.
void copy(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size);

/// Waits until all work requested of GPU `index` before this call is done. Thread-safe. Throws DeviceError if some of
/// it failed.
void synchronize(int index);

}  // namespace troupe::cuda
