// Blocks of GPU memory: taken for the bytes of a message, and taken again when no process reads them any more.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "actors/clock.h"
#include "tensor/gpu_memory.h"

namespace troupe::detail {

/// Memory of a GPU that peers may have open. It is freed with the last handle: of the pool, of the block that is in
/// use, and of each peer that was told of it and has not said that it closed it.
class GpuAllocation {
 public:
  GpuAllocation(std::uint32_t id, int gpu, GpuMemory::Shared memory, std::shared_ptr<std::atomic<std::size_t>> total)
      : id_(id), gpu_(gpu), memory_(std::move(memory)), total_(std::move(total)) {}
  ~GpuAllocation() { total_->fetch_sub(memory_.bytes.size(), std::memory_order_relaxed); }
  GpuAllocation(const GpuAllocation&) = delete;
  GpuAllocation& operator=(const GpuAllocation&) = delete;

  /// Never used twice by one node.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] int gpu() const noexcept { return gpu_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_.bytes; }
  [[nodiscard]] const GpuBlockHandle& handle() const noexcept { return memory_.handle; }

 private:
  const std::uint32_t id_;
  const int gpu_;
  const GpuMemory::Shared memory_;
  const std::shared_ptr<std::atomic<std::size_t>> total_;  ///< bytes of all allocations of the pool
};

class GpuBlockPool;

/// Memory of a pool, and when it was given back last. In a list, whose nodes go from the pool to a block and return
/// without an allocation.
struct PooledGpuMemory {
  std::shared_ptr<const GpuAllocation> memory;
  TimePoint since{};
};

/// A block in use. It returns to the pool with the last handle.
class GpuBlock {
 public:
  explicit GpuBlock(std::shared_ptr<GpuBlockPool> pool) : pool_(std::move(pool)) {}
  ~GpuBlock();
  GpuBlock(const GpuBlock&) = delete;
  GpuBlock& operator=(const GpuBlock&) = delete;

  [[nodiscard]] const std::shared_ptr<const GpuAllocation>& memory() const noexcept { return memory_.front().memory; }

 private:
  friend class GpuBlockPool;
  const std::shared_ptr<GpuBlockPool> pool_;
  std::list<PooledGpuMemory> memory_;  ///< one, given by the pool
};

/// The blocks of one node, one for each tensor, in the sizes of SegmentPool. Thread-safe.
class GpuBlockPool : public std::enable_shared_from_this<GpuBlockPool> {
 public:
  /// `bytes_max`: of all blocks together.
  GpuBlockPool(std::shared_ptr<const GpuMemory> gpus, std::size_t bytes_max)
      : gpus_(std::move(gpus)), bytes_max_(bytes_max) {}

  /// Returns a block of at least `bytes` on GPU `gpu`; null if the limit or the GPU refuses it. Its content is
  /// undefined. Blocks that are not in use end if they leave no room; their memory is there once peers have closed
  /// them.
  [[nodiscard]] std::shared_ptr<GpuBlock> take(int gpu, std::size_t bytes);

  /// Ends the blocks that were given back before `time`.
  void trim(TimePoint time);

  /// Returns the allocations that have ended since the last call: peers should close them.
  [[nodiscard]] std::list<std::uint32_t> take_ended();

  /// As SegmentPool's.
  void give_back_ended(std::list<std::uint32_t> untold) noexcept;

  /// The bytes of all allocations, also of those that peers have not closed yet.
  [[nodiscard]] std::size_t bytes() const { return bytes_->load(std::memory_order_relaxed); }

 private:
  friend class GpuBlock;
  using Idle = std::list<PooledGpuMemory>;
  using Key = std::pair<int, std::size_t>;  ///< GPU, size of a block

  /// Allocates nothing: called by destructors.
  void give_back(Idle& memory) noexcept;
  /// As trim(). Moves the memory to `ended`, to be freed without the lock.
  void end_idle(TimePoint time, Idle& ended);

  const std::shared_ptr<const GpuMemory> gpus_;
  const std::size_t bytes_max_;
  const std::shared_ptr<std::atomic<std::size_t>> bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::mutex mutex_;
  std::map<Key, Idle> idle_;        ///< has an entry for each block; guarded by mutex_
  std::list<std::uint32_t> ended_;  ///< guarded by mutex_
  std::uint32_t last_ = 0;          ///< guarded by mutex_
};

}  // namespace troupe::detail
