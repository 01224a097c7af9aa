// The pieces of a message in transit.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// One piece of a message: bytes, and the owner that keeps them alive and unchanged while any copy of the frame exists.
struct Frame {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// The size limit of a message in every layer: codec, session and link.
inline constexpr std::size_t kMessageBytesMax = std::size_t{1} << 40U;

/// One message as a link carries it.
using Frames = std::vector<Frame>;

/// Returns a frame that owns `bytes`.
[[nodiscard]] Frame make_frame(std::vector<std::byte> bytes);

}  // namespace troupe
