#include "tensor/storage.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <tuple>
#include <utility>

#include "tensor/cpu/allocator.h"
#include "tensor/cuda/memory.h"
#include "tensor/error.h"

namespace troupe {

std::shared_ptr<const Derived> DerivedSlot::get() const {
  if (!is_set_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard lock(mutex_);
  return object_;
}

void DerivedSlot::set(std::shared_ptr<const Derived> object) {
  std::ignore = exchange(std::move(object));
  is_set_.store(true, std::memory_order_release);
}

void DerivedSlot::clear() {
  if (is_set_.exchange(false, std::memory_order_acq_rel)) std::ignore = exchange(nullptr);
}

// What was there is destroyed by the caller, without the lock.
std::shared_ptr<const Derived> DerivedSlot::exchange(std::shared_ptr<const Derived> object) {
  const std::lock_guard lock(mutex_);
  return std::exchange(object_, std::move(object));
}

namespace {

std::byte* allocate_on(Device device, std::size_t size) {
  return device.kind == DeviceKind::cpu ? cpu_allocator().allocate(size) : cuda::allocate(device.index, size);
}

}  // namespace

/// Memory that never moves. It is freed when no Storage uses it and its last reader is released.
struct Storage::Block {
  Block(std::size_t size_in, Device device_in)
      : bytes(allocate_on(device_in, size_in)), size(size_in), device(device_in) {}
  /// Adopted memory. A permanent reader keeps it read-only.
  Block(const FrozenBytes& foreign, Device device_in)
      : owner(foreign.owner()),
        bytes(const_cast<std::byte*>(foreign.bytes().data())),  // never written: the block has a reader
        size(foreign.bytes().size()),
        device(device_in),
        readers(1),
        derived_of_owner(foreign.derived()) {}
  ~Block() {
    if (owner) return;
    if (device.kind == DeviceKind::cpu) cpu_allocator().deallocate(bytes, size);
    else cuda::deallocate(device.index, bytes);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  const std::shared_ptr<const void> owner;  ///< keeps adopted memory alive; null if the block owns its memory
  std::byte* const bytes;
  const std::size_t size;
  const Device device;
  std::atomic<std::int64_t> readers{0};
  DerivedSlot derived;                            ///< of the present bytes: set only by readers, cleared before a write
  DerivedSlot* const derived_of_owner = nullptr;  ///< the slot that adopted bytes came with; valid while `owner` lives
};

struct Storage::State {
  explicit State(std::shared_ptr<Block> block_in)
      : device(block_in->device), size(block_in->size), block(std::move(block_in)), bytes(block->bytes) {}

  /// Runs deferred work. Releases its operands without the mutex, because their release may run code of other owners.
  void finish() {
    std::unique_lock lock(mutex);
    const std::unique_ptr<PendingWork> work = take_pending();
    lock.unlock();
  }

  /// Runs deferred work and returns it; the caller releases it after the mutex. REQUIRES: mutex is held.
  [[nodiscard]] std::unique_ptr<PendingWork> take_pending() {
    if (pending) pending->run(block->bytes);
    is_pending.store(false, std::memory_order_release);
    return std::move(pending);
  }

  const Device device;
  const std::size_t size;
  mutable std::mutex mutex;  ///< Guards `block` and `pending`.
  std::unique_ptr<PendingWork> pending;
  std::atomic<bool> is_pending{false};  ///< whether `pending` is set; read without the mutex
  std::shared_ptr<Block> block;
  std::atomic<std::byte*> bytes;     ///< block->bytes, read without the mutex
  std::atomic<bool> exposed{false};  ///< whether the caller gave out a span over `bytes`
  std::atomic<std::uint64_t> version{0};
};

Storage Storage::allocate(std::size_t size, Device device) {
  require_available("allocate", device);
  return Storage(std::make_shared<State>(std::make_shared<Block>(size, device)));
}

Storage Storage::adopt(const FrozenBytes& bytes, Device device) {
  if (!bytes.owner()) throw ValueError("[adopt] nobody keeps these bytes");
  return Storage(std::make_shared<State>(std::make_shared<Block>(bytes, device)));
}

std::size_t Storage::size() const noexcept { return state_ ? state_->size : 0; }

Device Storage::device() const noexcept { return state_ ? state_->device : Device::cpu(); }

const std::byte* Storage::data() const noexcept {
  if (!state_) return nullptr;
  if (state_->is_pending.load(std::memory_order_acquire)) state_->finish();
  return state_->bytes.load(std::memory_order_acquire);
}

std::byte* Storage::mutable_data() {
  if (!state_) return nullptr;
  std::unique_ptr<PendingWork> done;  // released after the lock
  const std::lock_guard lock(state_->mutex);
  done = state_->take_pending();
  // Acquire pairs with the release of the last reader: its reads happen before the writes that follow.
  if (state_->block->readers.load(std::memory_order_acquire) > 0) {
    auto fresh = std::make_shared<Block>(state_->size, state_->device);
    copy_bytes(fresh->bytes, state_->device, state_->block->bytes, state_->device, state_->size);
    state_->block = std::move(fresh);
    state_->bytes.store(state_->block->bytes, std::memory_order_release);
    state_->exposed.store(false, std::memory_order_relaxed);
  } else {
    state_->block->derived.clear();
  }
  state_->version.fetch_add(1, std::memory_order_relaxed);
  return state_->block->bytes;
}

FrozenBytes Storage::freeze() const {
  struct Reader {
    explicit Reader(std::shared_ptr<Block> block_in) : block(std::move(block_in)) {
      block->readers.fetch_add(1, std::memory_order_relaxed);
    }
    ~Reader() { block->readers.fetch_sub(1, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    std::shared_ptr<Block> block;
  };
  if (!state_) return {};
  std::unique_ptr<PendingWork> done;  // released after the lock
  const std::lock_guard lock(state_->mutex);
  done = state_->take_pending();
  Block& block = *state_->block;
  const std::span<const std::byte> bytes(block.bytes, block.size);
  // Adopted bytes need no further reader. Their next adoption keeps the same owner: else it would own this block, and
  // a tensor that is handed on again and again would end in a chain of owners, destroyed in a recursion.
  if (block.derived_of_owner != nullptr) return {block.owner, bytes, block.derived_of_owner};
  auto reader = std::make_shared<Reader>(state_->block);
  // Whoever has a span over the bytes may write them without a word: nothing is derived from such. Nobody writes
  // adopted bytes.
  const bool may_change = !block.owner && state_->exposed.load(std::memory_order_relaxed);
  return {std::move(reader), bytes, may_change ? nullptr : &block.derived};
}

void Storage::expose() const noexcept {
  // Loads first: concurrent readers must not invalidate each other's cache line with stores.
  if (state_ && !state_->exposed.load(std::memory_order_relaxed))
    state_->exposed.store(true, std::memory_order_relaxed);
}

bool Storage::exposed() const noexcept { return state_ && state_->exposed.load(std::memory_order_relaxed); }

bool Storage::frozen() const noexcept {
  if (!state_) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->block->readers.load(std::memory_order_acquire) > 0;
}

void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size) {
  const bool on_cpu = to_device.kind == DeviceKind::cpu && from_device.kind == DeviceKind::cpu;
  if (!on_cpu) cuda::copy(to, to_device, from, from_device, size);
  else if (size > 0) std::memcpy(to, from, size);
}

void Storage::defer(std::unique_ptr<PendingWork> work) {
  std::unique_ptr<PendingWork> done;  // released after the lock
  const std::lock_guard lock(state_->mutex);
  done = state_->take_pending();
  state_->block->derived.clear();
  state_->pending = std::move(work);
  state_->is_pending.store(true, std::memory_order_release);
  state_->version.fetch_add(1, std::memory_order_relaxed);
}

PendingWork* Storage::pending() const noexcept {
  if (!state_) return nullptr;
  const std::lock_guard lock(state_->mutex);
  return state_->pending.get();
}

std::uint64_t Storage::version() const noexcept { return state_ ? state_->version.load(std::memory_order_relaxed) : 0; }

}  // namespace troupe
