// Reassembles one message from its pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "messages/error.h"
#include "messages/frame.h"
#include "tensor/storage.h"

namespace troupe {

struct AssemblyLimits {
  std::size_t frames_max = (std::size_t{1} << 16) + 64;
  std::uint64_t bytes_max = kMessageBytesMax;
};

/// One message being received. Each frame gets memory of its own, aligned as tensors are, when its first byte arrives
/// or `reserve` is called; a size that a peer merely claims allocates nothing. Thread rule: one thread at a time.
class Assembly {
 public:
  /// Starts from the two frames of a `first` piece. Errors: `protocol_violation` for impossible sizes, `too_large`.
  [[nodiscard]] static Result<Assembly> begin(std::span<const Frame> first, const AssemblyLimits& limits);

  /// Allocates memory for all frames now. Errors: `resource_exhausted`.
  [[nodiscard]] Result<Unit> reserve();

  /// Adds the frames of the next piece. Errors: `protocol_violation` for more bytes than announced,
  /// `resource_exhausted`.
  [[nodiscard]] Result<Unit> append(std::span<const Frame> piece);

  [[nodiscard]] bool complete() const { return missing_ == 0; }

  /// Returns the message. REQUIRES: complete().
  [[nodiscard]] Frames take();

  /// Returns the bytes of the frames that arrive in pieces: all but frame 0.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const Frame& header() const { return header_; }

 private:
  [[nodiscard]] bool allocate(std::size_t index);

  Frame header_;
  std::vector<std::uint64_t> sizes_;  ///< of all frames but frame 0
  std::vector<Storage> frames_;       ///< their memory, once allocated
  std::uint64_t bytes_ = 0;
  std::uint64_t missing_ = 0;
  std::size_t current_ = 0;   ///< the frame that the next byte belongs to
  std::uint64_t filled_ = 0;  ///< number of its bytes that have arrived
  std::byte* to_ = nullptr;   ///< the current frame's memory; null before it is allocated
};

}  // namespace troupe
