#include "node/links/shared_memory/gpu_blocks.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "node/links/shared_memory/segment_pool.h"

namespace troupe::detail {
namespace {

/// Bytes of the limit for an allocation to come. Gives them back in the destructor, unless it was made.
struct Reserved {
  ~Reserved() { total.fetch_sub(bytes, std::memory_order_relaxed); }
  std::atomic<std::size_t>& total;
  std::size_t bytes = 0;
};

}  // namespace

GpuBlock::~GpuBlock() { pool_->give_back(memory_); }

std::shared_ptr<GpuBlock> GpuBlockPool::take(int gpu, std::size_t bytes) {
  if (bytes > bytes_max_) return nullptr;
  const std::size_t size = SegmentPool::block_size(bytes);
  std::vector<Idle> ended;
  std::uint32_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    std::vector<Idle>& idle = idle_[{gpu, size}];
    if (!idle.empty()) {
      auto block = std::make_shared<GpuBlock>(shared_from_this(), idle.back().memory);
      idle.pop_back();
      return block;
    }
    if (this->bytes() + size > bytes_max_) end_idle(TimePoint::max(), ended);
    id = ++last_;
  }
  ended.clear();  // what no peer was told of is free now
  const std::size_t before = bytes_->fetch_add(size, std::memory_order_relaxed);
  Reserved reserved{.total = *bytes_, .bytes = size};
  if (before + size > bytes_max_) return nullptr;
  auto memory = gpus_->allocate(gpu, size);
  if (!memory) return nullptr;
  auto allocation = std::make_shared<const GpuAllocation>(id, gpu, *std::move(memory), bytes_);
  reserved.bytes = 0;  // the allocation gives them back
  return std::make_shared<GpuBlock>(shared_from_this(), std::move(allocation));
}

void GpuBlockPool::give_back(std::shared_ptr<const GpuAllocation> memory) noexcept {
  const std::lock_guard lock(mutex_);
  const Key key{memory->gpu(), memory->bytes().size()};
  try {
    idle_[key].push_back({.memory = std::move(memory), .since = std::chrono::steady_clock::now()});
  } catch (const std::bad_alloc&) {
    // It ends here; peers that have it open close it when this node ends.
  }
}

void GpuBlockPool::end_idle(TimePoint time, std::vector<Idle>& ended) {
  for (auto& [key, idle] : idle_) {
    const auto is_kept = [time](const Idle& one) { return one.since >= time; };
    const auto kept_end = std::partition(idle.begin(), idle.end(), is_kept);
    const auto count = static_cast<std::size_t>(idle.end() - kept_end);
    ended_.reserve(ended_.size() + count);
    ended.reserve(ended.size() + count);
    for (auto one = kept_end; one != idle.end(); ++one) {
      ended_.push_back(one->memory->id());
      ended.push_back(std::move(*one));
    }
    idle.erase(kept_end, idle.end());
  }
}

void GpuBlockPool::trim(TimePoint time) {
  std::vector<Idle> ended;
  const std::lock_guard lock(mutex_);
  end_idle(time, ended);
}

std::vector<std::uint32_t> GpuBlockPool::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

}  // namespace troupe::detail
