// The pieces of a message in transit, and the integers at fixed offsets of their headers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/device.h"

namespace troupe {

class DerivedSlot;

/// Whose memory a frame is in.
enum class FrameMemory : std::uint8_t {
  own,      ///< of this process
  leased,   ///< of this process, and the receiver maps it: the bytes do not travel. Only a link makes such frames
  foreign,  ///< of another process, which is not to change it, but could: read each byte once before it is checked
  missing,  ///< of another process, and this one could not map it: the frame has no bytes, its message cannot be read
};

/// One piece of a message: bytes, and the owner that keeps them alive and unchanged while any copy of the frame exists.
struct Frame {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  FrameMemory memory = FrameMemory::own;
  DerivedSlot* derived = nullptr;  ///< of the block that has the bytes; valid while the owner lives, may be null
  Device device{};                 ///< whose memory has the bytes: the CPU must not read those of a GPU
};

/// The size limit of a message in every layer: codec, session and link.
inline constexpr std::size_t kMessageBytesMax = std::size_t{1} << 40U;

/// One message as a link carries it.
using Frames = std::vector<Frame>;

/// Returns a frame that owns `bytes`.
[[nodiscard]] Frame make_frame(std::vector<std::byte> bytes);

namespace detail {

/// Writes `value` to the first sizeof(value) bytes of `to`. REQUIRES: they exist.
template <std::unsigned_integral T>
void store_little_endian(std::span<std::byte> to, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

/// Reads a T from the first sizeof(T) bytes of `from`. REQUIRES: they exist.
template <std::unsigned_integral T>
[[nodiscard]] T load_little_endian(std::span<const std::byte> from) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value | (static_cast<T>(from[i]) << (8 * i)));
  return value;
}

}  // namespace detail

}  // namespace troupe
