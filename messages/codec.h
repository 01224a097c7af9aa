// Encodes messages as frames and decodes them. WIRE.md describes the bytes.
//
// Thread rule: any thread may call any function; none keeps state. Decoding trusts no input: hostile bytes give an
// Error of code `decode`, never a crash, and never more memory than 64 KiB + 16 times the bytes received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/all.h"
#include "messages/envelope.h"
#include "messages/error.h"
#include "messages/frame.h"

namespace troupe::msg {

/// The bounds of a message. Both sides check them, so all that can be encoded can be decoded.
struct DecodeLimits {
  std::size_t body_bytes_max = kMessageBytesMax;        ///< all of a message except its tensors
  std::size_t text_bytes_max = std::size_t{64} << 10U;  ///< one name or text of the runtime; user strings count as body
  std::size_t frames_max = 65'536;                      ///< tensors' frames in one message
  std::size_t frame_bytes_max = kMessageBytesMax;       ///< one tensor's frame
};

/// Returns the frames of `message`: header, body, then one per tensor storage used. Storages are not copied: each is
/// frozen until the last copy of its frame is destroyed, and a write to it meanwhile goes to a fresh block. The header
/// has a checksum of itself; the session checks the other frames (actors/sessions/session_header.h). Error `too_large`
/// beyond `limits`, `not_serializable` for a tensor that is not on the CPU.
[[nodiscard]] Result<Frames> encode(const Envelope& envelope, const AnyMessage& message,
                                    const DecodeLimits& limits = {});

/// A message and its envelope.
struct Decoded {
  Envelope envelope;
  AnyMessage message;
};

/// Returns the arguments of `encode`, or Error `decode` (`version_mismatch` for bytes of another protocol version). A
/// tensor adopts a frame that is aligned as tensors are, and is copied out of any other. A Payload keeps the received
/// frames (their owners live as long as it does); its tensors are made where its values are decoded.
[[nodiscard]] Result<Decoded> decode(std::span<const Frame> frames, const DecodeLimits& limits = {});

/// The part of a message that a router needs, without decoding the message.
struct Outside {
  Envelope envelope;
  MessageTag tag{};
  std::uint64_t bytes = 0;  ///< of its body and tensors, as its header announces
};

/// Reads and checks the header only. Errors as `decode`.
[[nodiscard]] Result<Outside> decode_outside(std::span<const Frame> frames, const DecodeLimits& limits = {});

/// As above, for a message of which only frame 0 has arrived.
[[nodiscard]] Result<Outside> decode_header(const Frame& header, const DecodeLimits& limits = {});

}  // namespace troupe::msg
