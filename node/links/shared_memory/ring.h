// A queue of packets from one process to another, in memory that both map.
//
// The reader's process could write any bytes at any time, and so could the writer's. Each side keeps its own position
// in memory of its own, checks the other's before use, and reads every byte once.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "messages/frame.h"
#include "node/links/shared_memory/segment.h"

namespace troupe::detail {

/// The bytes for packets, a power of two. Two nodes that talk have two rings.
inline constexpr std::size_t kRingBytes = std::size_t{128} << 10;
/// The largest packet, with the sizes of its frames.
inline constexpr std::size_t kRingPacketMax = kRingBytes / 2;
/// The segment of a ring: the positions, then the bytes.
inline constexpr std::size_t kRingSegmentBytes = std::size_t{4096} + kRingBytes;

/// Thread rule: one thread at a time.
class RingWriter {
 public:
  /// REQUIRES: `memory` has kRingSegmentBytes, all zero.
  explicit RingWriter(std::shared_ptr<const Mapping> memory);

  /// Returns false if the packet is too large for any ring.
  [[nodiscard]] static bool can_take(const Frames& packet) { return size_of(packet).has_value(); }

  enum class Put : std::uint8_t {
    done,
    no_room,  ///< now, or ever: the packet is too large
    broken,   ///< the reader's position is impossible: the ring cannot be used any more
  };
  /// Puts a packet in whole, or not at all. It belongs to run `run` of the ring, see RingReader.
  [[nodiscard]] Put put(const Frames& packet, std::uint32_t run);

  /// Returns whether the reader has taken all packets.
  [[nodiscard]] bool is_empty() const;

 private:
  [[nodiscard]] static std::optional<std::size_t> size_of(const Frames& packet);
  void write(std::span<const std::byte> bytes);

  std::shared_ptr<const Mapping> memory_;
  std::span<std::byte> bytes_;
  std::uint64_t tail_ = 0;  ///< number of bytes ever put
};

/// Thread rule: one thread at a time.
class RingReader {
 public:
  /// REQUIRES: `memory` has kRingSegmentBytes.
  explicit RingReader(std::shared_ptr<const Mapping> memory);

  enum class Took : std::uint8_t {
    packet,
    nothing,
    later,      ///< the next packet belongs to a later run
    no_memory,  ///< for the next packet, which is lost
    broken,     ///< the writer's bytes are impossible: the ring cannot be used any more
  };
  /// Takes the next packet, unless it belongs to a run later than `run`: packets that follow each other without one
  /// that took another way are a run. Its frames share one block of memory of this process.
  [[nodiscard]] Took take(Frames& packet, std::uint32_t run);

  /// Returns the run of the packet that take() found last.
  [[nodiscard]] std::uint32_t found_run() const { return found_run_; }

 private:
  void read(std::span<std::byte> to);

  std::shared_ptr<const Mapping> memory_;
  std::span<const std::byte> bytes_;
  std::uint64_t head_ = 0;  ///< number of bytes ever taken
  std::uint32_t found_run_ = 0;
};

}  // namespace troupe::detail
