// The bytes of raw calls: what two ports (port.h) say to each other through a session. WIRE.md has the layout.
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

/// Parts on their way: each in one frame or, if it is larger than a link carries, in several; an empty one in none.
struct Body {
  std::vector<std::uint64_t> sizes;  ///< of the parts
  Frames frames;
};

inline constexpr std::size_t kFrameBytesMax = std::size_t{1} << 30;
inline constexpr std::size_t kFramesMax = 65'000;

/// Cuts parts into frames that share their bytes and owners. Throws std::length_error beyond kFramesMax frames or parts.
[[nodiscard]] Body to_body(const Port::Parts& parts, std::size_t frame_bytes_max = kFrameBytesMax);

/// The parts again. One that came in several frames is copied into one, unless they lie one behind the other as they do
/// in a call to oneself. Takes as long as that copy does: not for the thread that does input and output.
[[nodiscard]] Port::Parts to_parts(const Body& body, std::size_t frame_bytes_max = kFrameBytesMax);

struct Message {
  enum class Kind : std::uint8_t {
    call = 1,
    answer = 2,
    dropped = 3,  ///< there will be no answer; no parts
  };
  Kind kind = Kind::call;
  RequestId request;      ///< of the caller
  std::uint64_t tag = 0;  ///< of a call
  Body body;
};

/// One header frame, then the body's.
[[nodiscard]] Frames encode(Message message);

/// Copies no part. Errors, all `decode`: anything but what `encode` makes. Allocates no more than a header's size.
[[nodiscard]] troupe::Result<Message> decode(Frames frames, std::size_t frame_bytes_max = kFrameBytesMax);

}  // namespace troupe::port
