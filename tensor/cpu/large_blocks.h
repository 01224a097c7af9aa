// Large blocks of memory, cut from segments: a free part is split when a smaller block is asked for, and joined with
// its free neighbours when it comes back. So a training step, whose tensors have many sizes, takes little more than it
// uses.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Bookkeeping only: reads and writes none of the memory. One owner at a time: not safe for several threads at once.
class LargeBlocks {
 public:
  struct Segment {
    std::byte* begin = nullptr;
    std::size_t size = 0;
  };

  /// Sizes are multiples of this.
  static constexpr std::size_t kUnit = 4096;
  /// Segments of up to this size are split; a larger one is one block, for requests of at least half its size.
  static constexpr std::size_t kSharedMax = std::size_t{64} << 20U;

  /// The size of a segment to add when no free part serves a request of `size`.
  [[nodiscard]] static std::size_t segment_size(std::size_t size) noexcept;

  /// Takes a segment in; all of it is free.
  void add(const Segment& segment);

  /// Returns the smallest free part that serves a request of `size`, or nothing.
  [[nodiscard]] std::optional<Segment> take(std::size_t size);

  /// Frees a block that take() returned, and returns its size.
  std::size_t give(std::byte* block);

  /// Returns a segment of which nothing is in use, the largest, and forgets it.
  [[nodiscard]] std::optional<Segment> remove_free();

  /// Returns the segments of which nothing was in use since the last call, and forgets them. Throws std::bad_alloc, and
  /// then forgets none.
  [[nodiscard]] std::vector<Segment> remove_unused();

 private:
  struct SegmentUse {
    std::size_t size;
    bool used;  ///< since the last remove_unused()
  };
  struct Part {
    std::size_t size;
    std::byte* segment;  ///< its begin: neighbours of two segments are not joined
    bool shared;
    bool free;
  };
  using Parts = std::map<std::byte*, Part>;

  void insert_free(Parts::iterator part) { free_.emplace(part->second.size, part->first); }
  void erase_free(Parts::iterator part) { free_.erase({part->second.size, part->first}); }
  /// Appends the part behind `part`.
  void join_next(Parts::iterator part);

  Parts parts_;
  std::set<std::pair<std::size_t, std::byte*>> free_;  ///< by size, then address
  std::map<std::byte*, SegmentUse> segments_;
};

}  // namespace troupe
