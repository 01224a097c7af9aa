// Memory of a GPU that processes of one host share. Includes no CUDA header: shared_memory.cc is built with the CUDA
// toolkit, memory_without.cc without it.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace troupe::cuda {

/// Bytes of the driver by which another process of this host opens a block.
using BlockHandle = std::array<std::byte, 64>;

/// A block of this process that others can read. REQUIRES: no process has it open when it is destroyed.
class SharedBlock {
 public:
  /// Null if the GPU has no such memory, or its driver shares none. Thread-safe.
  [[nodiscard]] static std::shared_ptr<const SharedBlock> make(int index, std::size_t size);
  SharedBlock(int index, std::span<std::byte> bytes, const BlockHandle& handle)
      : index_(index), bytes_(bytes), handle_(handle) {}
  ~SharedBlock();
  SharedBlock(const SharedBlock&) = delete;
  SharedBlock& operator=(const SharedBlock&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] const BlockHandle& handle() const noexcept { return handle_; }

 private:
  const int index_;
  const std::span<std::byte> bytes_;
  const BlockHandle handle_;
};

/// A block of another process, open in this one.
class ForeignBlock {
 public:
  /// Null if the driver refuses the handle, which may be any bytes. Thread-safe.
  [[nodiscard]] static std::shared_ptr<const ForeignBlock> open(int index, const BlockHandle& handle);
  ForeignBlock(int index, std::span<const std::byte> bytes) : index_(index), bytes_(bytes) {}
  ~ForeignBlock();
  ForeignBlock(const ForeignBlock&) = delete;
  ForeignBlock& operator=(const ForeignBlock&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  const int index_;
  const std::span<const std::byte> bytes_;
};

/// Returns the 32 hexadecimal digits that name GPU `index` in every process of this host; empty if there is none.
/// Thread-safe.
[[nodiscard]] std::string uuid_of(int index);

}  // namespace troupe::cuda
