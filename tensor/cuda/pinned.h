// Memory of the CPU that GPUs copy from and to by themselves.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/cuda/event.h"
#include "tensor/device.h"

namespace troupe::cuda {

/// Page-locked memory of the CPU, freed with the object. The copies return at once: the bytes must stay as they are
/// until the event has come.
class PinnedMemory {
 public:
  /// Throws DeviceError `[pinned] cuda:0: out of memory`.
  explicit PinnedMemory(std::size_t size);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Copies the first `size` bytes to memory of GPU `index`, after what was asked of it before. Throws DeviceError.
  [[nodiscard]] Event copy_to(int index, std::byte* to, std::size_t size) const;
  /// The other way.
  [[nodiscard]] Event copy_from(int index, const std::byte* from, std::size_t size) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace troupe::cuda
