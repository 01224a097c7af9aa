// Blocks of memory in segments: taken for the bytes of a message, and taken again when no process reads them any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "actors/clock.h"
#include "node/links/shared_memory/segment.h"

namespace troupe::detail {

class SegmentPool;

/// A block in use. Its memory returns to the pool with the last handle. One block has the bytes of one tensor, so that
/// no tensor keeps the memory of another.
class Block {
 public:
  Block(std::shared_ptr<SegmentPool> pool, std::uint32_t segment, std::span<std::byte> segment_bytes,
        std::span<std::byte> bytes)
      : pool_(std::move(pool)), segment_(segment), segment_bytes_(segment_bytes), bytes_(bytes) {}
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  [[nodiscard]] std::uint32_t segment() const noexcept { return segment_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
  /// Returns where its segment has `part`, a part of the block.
  [[nodiscard]] std::size_t offset_of(std::span<const std::byte> part) const {
    return static_cast<std::size_t>(part.data() - segment_bytes_.data());
  }

 private:
  const std::shared_ptr<SegmentPool> pool_;
  const std::uint32_t segment_;
  const std::span<std::byte> segment_bytes_;
  const std::span<std::byte> bytes_;
};

/// The segments of one node. Block sizes have four steps from one power of two to the next, so at most a quarter of a
/// block is unused; small blocks of one size share segments. Thread-safe.
class SegmentPool : public std::enable_shared_from_this<SegmentPool> {
 public:
  /// `bytes_max`: of all segments together.
  explicit SegmentPool(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// Returns a block of at least `bytes`; null if the limit or the system refuses it. Its content is undefined.
  /// Segments without blocks in use end if they leave no room. `alike`: how many blocks of that size the caller takes
  /// now, this one included; a segment that is made has room for all, so that peers are given few of them.
  [[nodiscard]] std::shared_ptr<Block> take(std::size_t bytes, std::size_t alike = 1);

  /// Returns the block in use that has `bytes` whole; null if there is none.
  [[nodiscard]] std::shared_ptr<Block> find(std::span<const std::byte> bytes);

  /// The descriptor of a segment and its size, for a peer. It stays open while a block of the segment is in use.
  struct Shared {
    int descriptor = -1;
    std::size_t bytes = 0;
  };
  [[nodiscard]] Shared segment(std::uint32_t id) const;

  /// Ends the segments whose blocks were all given back before `time`.
  void trim(TimePoint time);

  /// Returns the segments that have ended since the last call: peers should unmap them.
  [[nodiscard]] std::list<std::uint32_t> take_ended();

  /// The next call of take_ended() returns these, too: there are peers that were not told of them. Allocates nothing.
  void give_back_ended(std::list<std::uint32_t> untold) noexcept;

  struct Counts {
    std::size_t segments = 0;
    std::size_t bytes = 0;       ///< of all segments
    std::size_t idle_bytes = 0;  ///< of blocks that are not in use
  };
  [[nodiscard]] Counts counts() const;

  /// The size of a block for `bytes`.
  [[nodiscard]] static std::size_t block_size(std::size_t bytes);

 private:
  friend class Block;
  class Reserved;
  struct Open {
    Segment segment;
    std::size_t block_bytes = 0;
    std::vector<std::weak_ptr<Block>> blocks;  ///< by position; those in use
    std::vector<std::size_t> free;             ///< positions; never above its first capacity
    TimePoint last_given_back{};
  };

  /// The segments with blocks of one size.
  struct SizeClass {
    std::vector<std::uint32_t> segments;
    std::size_t free = 0;  ///< blocks
  };

  [[nodiscard]] std::shared_ptr<Block> block_in(SizeClass& size);
  /// As trim(). Moves the memory to `ended`, to be unmapped without the lock.
  void end_idle(TimePoint time, std::vector<Segment>& ended);
  /// Allocates nothing: called by destructors.
  void give_back(std::uint32_t segment, std::span<const std::byte> bytes) noexcept;

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Open> segments_;                ///< guarded by mutex_
  std::map<const std::byte*, std::uint32_t> by_address_;  ///< segments by their first byte; guarded by mutex_
  std::map<std::size_t, SizeClass> sizes_;                ///< by the size of a block; guarded by mutex_
  std::list<std::uint32_t> ended_;                        ///< guarded by mutex_
  std::uint32_t last_ = 0;                                ///< guarded by mutex_
  std::size_t bytes_ = 0;                                 ///< guarded by mutex_
  std::size_t idle_bytes_ = 0;                            ///< guarded by mutex_
};

}  // namespace troupe::detail
