#include "node/links/shared_memory/segment_pool.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <iterator>
#include <utility>

namespace troupe::detail {
namespace {

constexpr std::size_t kBlockBytesMin = std::size_t{64} << 10;
constexpr std::size_t kSegmentBytesMin = std::size_t{8} << 20;
constexpr std::size_t kPage = 4096;

}  // namespace

/// Bytes of the limit for a segment to come. Gives them back in the destructor, unless it was made.
class SegmentPool::Reserved {
 public:
  explicit Reserved(SegmentPool& pool) : pool_(pool) {}
  ~Reserved() {
    if (bytes_ == 0) return;
    const std::lock_guard lock(pool_.mutex_);
    pool_.bytes_ -= bytes_;
  }
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  /// REQUIRES: the pool's mutex is held.
  void take(std::size_t bytes) { pool_.bytes_ += bytes_ = bytes; }
  void made() { bytes_ = 0; }

 private:
  SegmentPool& pool_;
  std::size_t bytes_ = 0;
};

Block::~Block() { pool_->give_back(segment_, bytes_); }

std::size_t SegmentPool::block_size(std::size_t bytes) {
  const std::size_t wanted = std::max(bytes, kBlockBytesMin);
  const std::size_t step = std::max(std::bit_floor(wanted) / 4, kPage);
  return (wanted + step - 1) / step * step;
}

std::shared_ptr<Block> SegmentPool::take(std::size_t bytes, std::size_t alike) {
  if (bytes > bytes_max_) return nullptr;
  const std::size_t block_bytes = block_size(bytes);
  std::size_t count = std::max({kSegmentBytesMin / block_bytes, alike, std::size_t{1}});
  std::vector<Segment> ended;
  Reserved reserved(*this);
  std::uint32_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto size = sizes_.find(block_bytes);
    if (size != sizes_.end() && size->second.free > 0) return block_in(size->second);
    if (bytes_ + block_bytes * count > bytes_max_) end_idle(TimePoint::max(), ended);
    count = std::min(count, (bytes_max_ - bytes_) / block_bytes);
    if (count == 0) return nullptr;
    reserved.take(block_bytes * count);
    id = ++last_;
  }
  const std::size_t segment_bytes = block_bytes * count;
  auto made = make_segment(segment_bytes, Writers::owner);  // without the lock: it clears all the memory
  if (!made) return nullptr;
  Open open{.segment = std::move(made).value(), .block_bytes = block_bytes, .blocks = {}, .free = {}};
  open.blocks.resize(count);
  for (std::size_t i = count; i-- > 0;) open.free.push_back(i);
  decltype(by_address_) address{{open.segment.memory->bytes().data(), id}};
  decltype(segments_) segment;
  segment.emplace(id, std::move(open));
  const std::lock_guard lock(mutex_);
  SizeClass& size = sizes_[block_bytes];
  size.segments.push_back(id);
  // From here on nothing needs memory: the pool has the whole segment, or nothing of it.
  by_address_.merge(address);
  segments_.merge(segment);
  reserved.made();
  size.free += count;
  idle_bytes_ += segment_bytes;
  return block_in(size);
}

std::shared_ptr<Block> SegmentPool::block_in(SizeClass& size) {
  const auto id = std::ranges::find_if(size.segments, [&](std::uint32_t s) { return !segments_.at(s).free.empty(); });
  Open& open = segments_.at(*id);
  const std::size_t position = open.free.back();
  const std::span<std::byte> all = open.segment.memory->bytes();
  auto block =
      std::make_shared<Block>(shared_from_this(), *id, all, all.subspan(position * open.block_bytes, open.block_bytes));
  open.free.pop_back();
  open.blocks[position] = block;
  --size.free;
  idle_bytes_ -= open.block_bytes;
  return block;
}

std::shared_ptr<Block> SegmentPool::find(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  auto after = by_address_.upper_bound(bytes.data());
  if (after == by_address_.begin()) return nullptr;
  const auto& [begin, id] = *--after;
  const Open& open = segments_.at(id);
  const auto offset = static_cast<std::size_t>(bytes.data() - begin);
  const std::size_t position = offset / open.block_bytes;
  if (position >= open.blocks.size() || offset + bytes.size() > (position + 1) * open.block_bytes) return nullptr;
  return open.blocks[position].lock();
}

void SegmentPool::give_back(std::uint32_t segment, std::span<const std::byte> bytes) noexcept {
  const std::lock_guard lock(mutex_);
  Open& open = segments_.at(segment);
  const auto offset = static_cast<std::size_t>(bytes.data() - open.segment.memory->bytes().data());
  open.free.push_back(offset / open.block_bytes);
  open.last_given_back = std::chrono::steady_clock::now();
  ++sizes_.at(open.block_bytes).free;
  idle_bytes_ += open.block_bytes;
}

void SegmentPool::end_idle(TimePoint time, std::vector<Segment>& ended) {
  for (auto size = sizes_.begin(); size != sizes_.end();) {
    std::vector<std::uint32_t>& ids = size->second.segments;
    for (std::size_t i = ids.size(); i-- > 0;) {
      const auto found = segments_.find(ids[i]);
      Open& open = found->second;
      if (open.free.size() < open.blocks.size() || open.last_given_back >= time) continue;
      const std::size_t segment_bytes = open.segment.memory->bytes().size();
      Segment& gone = ended.emplace_back();
      ended_.push_back(found->first);
      by_address_.erase(open.segment.memory->bytes().data());
      gone = std::move(open.segment);
      size->second.free -= open.blocks.size();
      segments_.erase(found);
      ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i));
      idle_bytes_ -= segment_bytes;
      bytes_ -= segment_bytes;
    }
    size = ids.empty() ? sizes_.erase(size) : std::next(size);
  }
}

void SegmentPool::trim(TimePoint time) {
  std::vector<Segment> ended;
  const std::lock_guard lock(mutex_);
  end_idle(time, ended);
}

std::list<std::uint32_t> SegmentPool::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

void SegmentPool::give_back_ended(std::list<std::uint32_t> untold) noexcept {
  const std::lock_guard lock(mutex_);
  ended_.splice(ended_.begin(), untold);
}

SegmentPool::Shared SegmentPool::segment(std::uint32_t id) const {
  const std::lock_guard lock(mutex_);
  const Open& open = segments_.at(id);
  return {.descriptor = open.segment.file.get(), .bytes = open.segment.memory->bytes().size()};
}

SegmentPool::Counts SegmentPool::counts() const {
  const std::lock_guard lock(mutex_);
  return {.segments = segments_.size(), .bytes = bytes_, .idle_bytes = idle_bytes_};
}

}  // namespace troupe::detail
