// The pieces of which a message consists while it is on its way.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace troupe {

/// One piece of a message: bytes, and what keeps them alive and unchanged until nobody reads them any more.
struct Frame {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// No message has more bytes than this, for every layer that it passes: codec, session and link.
inline constexpr std::size_t kMessageBytesMax = std::size_t{1} << 40U;

/// One message as a link carries it.
using Frames = std::vector<Frame>;

/// Returns a frame that owns `bytes`.
[[nodiscard]] Frame make_frame(std::vector<std::byte> bytes);

}  // namespace troupe
