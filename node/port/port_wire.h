// The bytes of raw calls between two ports (port.h), carried by a session. WIRE.md has the layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"
#include "messages/ids.h"
#include "node/port.h"

namespace troupe::port {

/// Parts in transit: each in one frame or, if it is larger than a link carries, in several; an empty one in none.
struct Body {
  std::vector<std::uint64_t> sizes;  ///< of the parts
  Frames frames;
};

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kFramesMax = 65'000;

/// Cuts parts into frames that share their bytes and owners. Throws std::length_error beyond kFramesMax frames or
/// parts.
[[nodiscard]] Body to_body(const Port::Parts& parts, std::size_t frame_bytes_max = kFrameBytesMax);

/// Reassembles the parts. A part in several frames is copied into one, unless the frames are adjacent in memory, as in
/// a call to oneself. Takes as long as that copy: REQUIRES: not on the input/output thread.
[[nodiscard]] Port::Parts to_parts(const Body& body, std::size_t frame_bytes_max = kFrameBytesMax);

struct Message {
  enum class Kind : std::uint8_t {
    call = 1,
    answer = 2,
    dropped = 3,  ///< no answer will come; no parts
  };
  Kind kind = Kind::call;
  RequestId request;      ///< of the caller
  std::uint64_t tag = 0;  ///< of a call
  Body body;
};

/// Returns one header frame, then the body's frames.
[[nodiscard]] Frames encode(Message message);

/// Copies no part. Errors, all `decode`: anything that `encode` does not make. Allocates no more than a header's size.
[[nodiscard]] troupe::Result<Message> decode(Frames frames, std::size_t frame_bytes_max = kFrameBytesMax);

}  // namespace troupe::port
