// Large blocks of memory, cut from segments. A request splits a free part; a freed part joins its free neighbours. So a
// training step, whose tensors have many sizes, needs little more memory than it uses.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace troupe {

/// Bookkeeping only: does not access the memory. Not thread-safe: one owner at a time. A function that throws
/// std::bad_alloc has changed nothing.
class LargeBlocks {
 public:
  struct Segment {
    std::byte* begin = nullptr;
    std::size_t size = 0;
  };

  /// Sizes are multiples of this.
  static constexpr std::size_t kUnit = 4096;
  /// Segments up to this size are split into blocks. A larger segment is one block, for requests of at least half its
  /// size.
  static constexpr std::size_t kSharedMax = std::size_t{64} << 20U;

  /// Returns the size of the segment to add if no free part serves a request of `size`.
  [[nodiscard]] static std::size_t segment_size(std::size_t size) noexcept;

  /// Adds a segment that is free as a whole.
  void add(const Segment& segment);

  /// Allocates `size` bytes, rounded up, from the smallest free part that serves them. Returns nullopt if there is
  /// none.
  [[nodiscard]] std::optional<Segment> take(std::size_t size);

  /// Frees a block that take() returned, and returns its size. Allocates nothing.
  std::size_t give(std::byte* block) noexcept;

  /// Removes and returns the largest segment of which no part is in use, or returns nullopt.
  [[nodiscard]] std::optional<Segment> remove_free();

  /// Removes and returns the segments of which no part was in use since the last call.
  [[nodiscard]] std::vector<Segment> remove_unused();

 private:
  struct SegmentUse {
    std::size_t size;
    bool used;  ///< whether a part was in use since the last remove_unused()
  };
  using FreeParts = std::set<std::pair<std::size_t, std::byte*>>;  ///< by size, then address
  struct Part {
    std::size_t size;
    std::byte* segment;  ///< begin of its segment; parts of two segments are never joined
    bool shared;
    FreeParts::node_type entry = {};  ///< its entry in free_ while it is in use; empty while it is free

    [[nodiscard]] bool free() const noexcept { return entry.empty(); }
  };
  using Parts = std::map<std::byte*, Part>;

  Parts::iterator add_free(std::byte* begin, Part part);
  void erase_free(Parts::iterator part) { free_.erase({part->second.size, part->first}); }
  /// Joins the part that follows `part` to it.
  void join_next(Parts::iterator part);

  Parts parts_;
  FreeParts free_;
  std::map<std::byte*, SegmentUse> segments_;
};

}  // namespace troupe
