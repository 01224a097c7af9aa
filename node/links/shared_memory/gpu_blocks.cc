#include "node/links/shared_memory/gpu_blocks.h"

#include <algorithm>
#include <chrono>
#include <iterator>

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

GpuBlock::~GpuBlock() {
  if (!memory_.empty()) pool_->give_back(memory_);
}

std::shared_ptr<GpuBlock> GpuBlockPool::take(int gpu, std::size_t bytes) {
  if (bytes > bytes_max_) return nullptr;
  const std::size_t size = SegmentPool::block_size(bytes);
  auto block = std::make_shared<GpuBlock>(shared_from_this());
  Idle ended;
  std::uint32_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    Idle& idle = idle_[{gpu, size}];
    if (!idle.empty()) {
      block->memory_.splice(block->memory_.begin(), idle, std::prev(idle.end()));
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
  block->memory_.push_back({.memory = std::move(allocation)});
  return block;
}

void GpuBlockPool::give_back(Idle& memory) noexcept {
  const std::lock_guard lock(mutex_);
  PooledGpuMemory& one = memory.front();
  one.since = std::chrono::steady_clock::now();
  Idle& idle = idle_.at({one.memory->gpu(), one.memory->bytes().size()});
  idle.splice(idle.end(), memory);
}

void GpuBlockPool::end_idle(TimePoint time, Idle& ended) {
  for (auto& [key, idle] : idle_) {
    for (auto one = idle.begin(); one != idle.end();) {
      const auto next = std::next(one);
      if (one->since < time) {
        ended_.push_back(one->memory->id());
        ended.splice(ended.end(), idle, one);
      }
      one = next;
    }
  }
}

void GpuBlockPool::trim(TimePoint time) {
  Idle ended;
  const std::lock_guard lock(mutex_);
  end_idle(time, ended);
}

std::list<std::uint32_t> GpuBlockPool::take_ended() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ended_, {});
}

void GpuBlockPool::give_back_ended(std::list<std::uint32_t> untold) noexcept {
  const std::lock_guard lock(mutex_);
  ended_.splice(ended_.begin(), untold);
}

}  // namespace troupe::detail
