#include "tensor/cpu/large_blocks.h"

#include <iterator>
#include <utility>

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
  const bool shared = segment.size <= kSharedMax;
  const auto part = add_free(segment.begin, {segment.size, segment.begin, shared});
  try {
    segments_.emplace(segment.begin, SegmentUse{segment.size, true});
  } catch (...) {
    erase_free(part);
    parts_.erase(part);
    throw;
  }
}

std::optional<LargeBlocks::Segment> LargeBlocks::take(std::size_t size) {
  const std::size_t wanted = in_units(size);
  for (auto entry = free_.lower_bound({wanted, nullptr}); entry != free_.end(); ++entry) {
    const auto found = parts_.find(entry->second);
    Part& part = found->second;
    if (!part.shared && wanted < part.size / 2) continue;
    if (part.shared && part.size > wanted) {
      add_free(found->first + wanted, {part.size - wanted, part.segment, true});
      part.size = wanted;
    }
    part.entry = free_.extract(entry);
    segments_.find(part.segment)->second.used = true;
    return Segment{found->first, part.size};
  }
  return std::nullopt;
}

std::size_t LargeBlocks::give(std::byte* block) noexcept {
  auto part = parts_.find(block);
  const std::size_t size = part->second.size;
  FreeParts::node_type entry = std::move(part->second.entry);  // leaves it empty: the part is free
  const auto joins = [this](Parts::iterator left, Parts::iterator right) {
    return right != parts_.end() && left->second.free() && right->second.free() &&
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
  entry.value() = {part->second.size, part->first};
  free_.insert(std::move(entry));
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
    const bool whole = part->second.free() && part->second.size == segment->second.size;
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

LargeBlocks::Parts::iterator LargeBlocks::add_free(std::byte* begin, Part part) {
  const std::size_t size = part.size;
  const auto added = parts_.emplace(begin, std::move(part)).first;
  try {
    free_.emplace(size, begin);
  } catch (...) {
    parts_.erase(added);
    throw;
  }
  return added;
}

void LargeBlocks::join_next(Parts::iterator part) {
  const auto next = std::next(part);
  part->second.size += next->second.size;
  parts_.erase(next);
}

}  // namespace troupe
