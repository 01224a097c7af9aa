#include "tensor/cpu/large_blocks.h"

#include <iterator>

namespace troupe {
namespace {

std::size_t in_units(std::size_t size) {
  return (size + LargeBlocks::kUnit - 1) / LargeBlocks::kUnit * LargeBlocks::kUnit;
}

}  // namespace

std::size_t LargeBlocks::segment_size(std::size_t size) noexcept {
  const std::size_t units = in_units(size);
  return units > kSharedMax / 2 ? units : kSharedMax;
}

void LargeBlocks::add(const Segment& segment) {
  segments_.emplace(segment.begin, SegmentUse{segment.size, true});
  const bool shared = segment.size <= kSharedMax;
  insert_free(parts_.emplace(segment.begin, Part{segment.size, segment.begin, shared, true}).first);
}

std::optional<LargeBlocks::Segment> LargeBlocks::take(std::size_t size) {
  const std::size_t wanted = in_units(size);
  for (auto entry = free_.lower_bound({wanted, nullptr}); entry != free_.end(); ++entry) {
    const auto found = parts_.find(entry->second);
    Part& part = found->second;
    if (!part.shared && wanted < part.size / 2) continue;
    free_.erase(entry);
    part.free = false;
    segments_.at(part.segment).used = true;
    if (part.shared && part.size > wanted) {
      const Part rest{part.size - wanted, part.segment, true, true};
      part.size = wanted;
      insert_free(parts_.emplace(found->first + wanted, rest).first);
    }
    return Segment{found->first, part.size};
  }
  return std::nullopt;
}

std::size_t LargeBlocks::give(std::byte* block) {
  auto part = parts_.find(block);
  const std::size_t size = part->second.size;
  part->second.free = true;
  const auto joins = [this](Parts::iterator left, Parts::iterator right) {
    return right != parts_.end() && left->second.free && right->second.free &&
           left->second.segment == right->second.segment;
  };
  if (const auto next = std::next(part); joins(part, next)) {
    erase_free(next);
    join_next(part);
  }
  if (part != parts_.begin()) {
    if (const auto before = std::prev(part); joins(before, part)) {
      erase_free(before);
      join_next(before);
      part = before;
    }
  }
  insert_free(part);
  return size;
}

std::optional<LargeBlocks::Segment> LargeBlocks::remove_free() {
  for (auto entry = free_.rbegin(); entry != free_.rend(); ++entry) {
    const auto segment = segments_.find(entry->second);
    if (segment == segments_.end() || segment->second.size != entry->first) continue;
    const Segment removed{entry->second, entry->first};
    parts_.erase(entry->second);
    segments_.erase(segment);
    free_.erase(std::next(entry).base());
    return removed;
  }
  return std::nullopt;
}

std::vector<LargeBlocks::Segment> LargeBlocks::remove_unused() {
  std::vector<Segment> unused;
  unused.reserve(segments_.size());
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    const auto part = parts_.find(segment->first);
    const bool whole = part->second.free && part->second.size == segment->second.size;
    if (whole && !segment->second.used) {
      unused.push_back({part->first, part->second.size});
      erase_free(part);
      parts_.erase(part);
      segment = segments_.erase(segment);
    } else {
      segment->second.used = !whole;
      ++segment;
    }
  }
  return unused;
}

void LargeBlocks::join_next(Parts::iterator part) {
  const auto next = std::next(part);
  part->second.size += next->second.size;
  parts_.erase(next);
}

}  // namespace troupe
