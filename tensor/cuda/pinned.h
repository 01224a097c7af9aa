// Page-locked CPU memory, which GPUs read and write directly.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/cuda/event.h"
#include "tensor/device.h"

namespace troupe::cuda {

/// Owns page-locked CPU memory. Copies return at once. REQUIRES: until a copy's event is complete, the object lives and
/// its bytes are not written, nor read after copy_from().
class PinnedMemory {
 public:
  /// Throws DeviceError `[pinned] cuda:0: out of memory`.
  explicit PinnedMemory(std::size_t size);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {data_, size_}; }

  /// Copies the first `size` bytes to `to` on GPU `index`, in the order of its stream. Throws DeviceError.
  [[nodiscard]] Event copy_to(int index, std::byte* to, std::size_t size) const;
  /// Copies `size` bytes from `from` on GPU `index` to the first bytes of this memory.
  [[nodiscard]] Event copy_from(int index, const std::byte* from, std::size_t size) const;

 private:
  std::byte* data_ = nullptr;
  std::size_t size_;
};

}  // namespace troupe::cuda
