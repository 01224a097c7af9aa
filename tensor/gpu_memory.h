// GPU memory that processes of one host share. An interface, so that tests of its users need no GPU.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace troupe::detail {

/// Bytes of the driver by which another process of this host opens a block.
using GpuBlockHandle = std::array<std::byte, 64>;

/// Thread-safe.
class GpuMemory {
 public:
  GpuMemory() = default;
  virtual ~GpuMemory() = default;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  /// Returns the name of GPU `gpu` that is the same in every process of the host; empty if this process has no such
  /// GPU.
  [[nodiscard]] virtual std::string uuid_of(int gpu) const = 0;

  /// Returns whether this process has worked on GPU `gpu`. Where it only sees it, the first block that it opens takes
  /// hundreds of MB of the GPU.
  [[nodiscard]] virtual bool is_in_use(int gpu) const = 0;

  /// A block of this process that others can open. It lives as long as its owner.
  struct Shared {
    std::span<std::byte> bytes;
    GpuBlockHandle handle{};
    std::shared_ptr<const void> owner;
  };
  /// Returns nullopt if the GPU has no memory for it, or cannot share any.
  [[nodiscard]] virtual std::optional<Shared> allocate(int gpu, std::size_t bytes) const = 0;

  /// A block of another process, open as long as its owner lives.
  struct Opened {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  /// Returns nullopt if the handle, which comes from a peer, is none of a block of GPU `gpu` of another process.
  [[nodiscard]] virtual std::optional<Opened> open(int gpu, const GpuBlockHandle& handle) const = 0;

  /// Copies within GPU `gpu`, and waits for the copy. Throws DeviceError.
  virtual void copy(int gpu, std::byte* to, std::span<const std::byte> from) const = 0;

  /// Waits until all work that this process has requested of GPU `gpu` is done. Throws DeviceError.
  virtual void finish(int gpu) const = 0;

  /// Copies from GPU `gpu` to the CPU, and waits for the copy. Throws DeviceError.
  virtual void copy_to_cpu(int gpu, std::byte* to, std::span<const std::byte> from) const = 0;
};

/// The GPUs of this process.
[[nodiscard]] std::shared_ptr<const GpuMemory> cuda_memory();

}  // namespace troupe::detail
