// Messages to frames and back. WIRE.md describes the bytes.
//
// Any thread may call any function here; none keeps state. Decoding trusts nothing: hostile bytes give an Error of code
// `decode`, never a crash, and never more memory than 64 KiB + 16 times the bytes received.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "messages/all.h"
#include "messages/envelope.h"
#include "messages/error.h"
#include "messages/frame.h"

namespace troupe::msg {

/// What a message may not exceed; both sides check it, so what can be encoded can be decoded.
struct DecodeLimits {
  std::size_t body_bytes_max = kMessageBytesMax;        ///< all of a message but its tensors
  std::size_t text_bytes_max = std::size_t{64} << 10U;  ///< one name or text of ours; user strings count as body
  std::size_t frames_max = 65'536;                      ///< tensors' frames in one message
  std::size_t frame_bytes_max = kMessageBytesMax;       ///< one tensor's frame
};

/// Returns the frames of `message`: header, body, then one per tensor storage that it uses, not copied: the storage is
/// frozen until the last copy of the frame is gone, and a write to it meanwhile goes to a fresh block. The header carries a
/// checksum of itself; the other frames are checked by the session that carries them (actors/sessions/session_header.h).
/// Error `too_large` beyond `limits`, `not_serializable` for a tensor that is not on the CPU.
[[nodiscard]] Result<Frames> encode(const Envelope& envelope, const AnyMessage& message, const DecodeLimits& limits = {});

/// A message and its envelope.
struct Decoded {
  Envelope envelope;
  AnyMessage message;
};

/// Returns what `encode` was given, or Error `decode` (`version_mismatch` for bytes of another protocol version).
/// A tensor adopts a frame that is aligned as tensors are, and is copied out of another; a Payload keeps the received frames
/// (their owners live as long as it does), so that is done where its values are decoded.
[[nodiscard]] Result<Decoded> decode(std::span<const Frame> frames, const DecodeLimits& limits = {});

/// What a router needs to know of a message without decoding it.
struct Outside {
  Envelope envelope;
  MessageTag tag{};
  std::uint64_t bytes = 0;  ///< of its body and tensors, as the header announces
};

/// Reads and checks the header alone. Errors as `decode`.
[[nodiscard]] Result<Outside> decode_outside(std::span<const Frame> frames, const DecodeLimits& limits = {});

/// Likewise, of a message of which only frame 0 has come.
[[nodiscard]] Result<Outside> decode_header(const Frame& header, const DecodeLimits& limits = {});

}  // namespace troupe::msg
