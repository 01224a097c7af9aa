// The memory of tensors: shared by views, versioned, and copied on write while a reader holds it frozen.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "tensor/device.h"

namespace troupe {

/// An object that was made from the bytes of a block, for example a copy that other processes read.
class Derived {
 public:
  Derived() = default;
  virtual ~Derived() = default;
  Derived(const Derived&) = delete;
  Derived& operator=(const Derived&) = delete;
};

/// Holds an object derived from the bytes of a block until they change. Thread-safe.
class DerivedSlot {
 public:
  [[nodiscard]] std::shared_ptr<const Derived> get() const;
  void set(std::shared_ptr<const Derived> object);
  void clear();

 private:
  [[nodiscard]] std::shared_ptr<const Derived> exchange(std::shared_ptr<const Derived> object);

  // Not atomic<shared_ptr>: that of GCC 12 does not order a load before a later store.
  mutable std::mutex mutex_;
  std::shared_ptr<const Derived> object_;  // guarded by mutex_
  std::atomic<bool> is_set_ = false;
};

/// Bytes that stay alive and unchanged while this object, a copy of it or a copy of its `owner()` exists.
/// Thread-safe: any thread may copy, read and release it.
class FrozenBytes {
 public:
  FrozenBytes() = default;
  FrozenBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, DerivedSlot* derived = nullptr)
      : owner_(std::move(owner)), bytes_(bytes), derived_(derived) {}

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// The object that keeps the bytes alive. May outlive this FrozenBytes.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// The slot of the block that has the bytes; valid while the owner lives, null if there is none.
  [[nodiscard]] DerivedSlot* derived() const noexcept { return derived_; }

  /// Returns a part of these bytes with the same owner. REQUIRES: offset + size <= bytes().size().
  [[nodiscard]] FrozenBytes part(std::size_t offset, std::size_t size) const {
    return {owner_, {bytes_.data() + offset, size}, derived_};
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  DerivedSlot* derived_ = nullptr;
};

/// Deferred work on the bytes of a Storage. It runs when the bytes are accessed next.
class PendingWork {
 public:
  PendingWork() = default;
  virtual ~PendingWork() = default;
  PendingWork(const PendingWork&) = delete;
  PendingWork& operator=(const PendingWork&) = delete;

  /// Called at most once, by the thread that accesses the bytes, with only this Storage's mutex held.
  virtual void run(std::byte* bytes) const noexcept = 0;
};

/// Handle of one block of memory. Copies of the handle share the memory, and so do all tensors that view it.
///
/// Every write goes through `mutable_data()`. While a FrozenBytes of the block lives, a write first moves this Storage
/// to a fresh block with the same bytes: all tensors on this Storage see the write, the FrozenBytes does not.
///
/// Threads: `freeze`, `version` and the release of a FrozenBytes are thread-safe. REQUIRES: `mutable_data` and the
/// writes that follow it do not overlap reads or writes of the same Storage on other threads.
class Storage {
 public:
  /// An undefined Storage: no memory, `size()` is 0.
  Storage() = default;

  /// Allocates `size` uninitialised bytes, aligned to 64 bytes.
  [[nodiscard]] static Storage allocate(std::size_t size, Device device = Device::cpu());

  /// Shares memory of `device` that `bytes.owner()` keeps alive, for example a mapped file. Copies nothing and never
  /// writes there: the first write moves this Storage to a block of its own. What is adopted, frozen and adopted again
  /// keeps its owner from the second time on.
  /// Throws ValueError `[adopt] nobody keeps these bytes` if `bytes` has no owner.
  [[nodiscard]] static Storage adopt(const FrozenBytes& bytes, Device device = Device::cpu());

  [[nodiscard]] bool defined() const noexcept { return state_ != nullptr; }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] Device device() const noexcept;

  /// Returns the address of the bytes, in GPU memory for a GPU, for reading. Runs deferred work first.
  /// Valid until the next `mutable_data()` of this Storage.
  [[nodiscard]] const std::byte* data() const noexcept;

  /// Returns the address of the bytes for writing and increments the version. Runs deferred work first. Valid until the
  /// next `freeze()` or `mutable_data()`. Call it before `data()` of a tensor that may alias: it may move the bytes.
  [[nodiscard]] std::byte* mutable_data();

  /// Returns the present bytes without a copy. They stay unchanged until the result is released.
  [[nodiscard]] FrozenBytes freeze() const;

  /// Records that the caller gave out a span over the present bytes. Its holder may read and write at any time, so
  /// arithmetic on them is not deferred until a write moves this Storage.
  void expose() const noexcept;

  /// Returns whether expose() was called since the last move.
  [[nodiscard]] bool exposed() const noexcept;

  /// Returns whether the next write would copy: a FrozenBytes of the present block lives, or the block is adopted.
  [[nodiscard]] bool frozen() const noexcept;

  /// Returns the version counter: the number of calls of `mutable_data` and `defer`.
  [[nodiscard]] std::uint64_t version() const noexcept;

  /// Returns whether both handles share their memory.
  [[nodiscard]] bool same_as(const Storage& other) const noexcept { return state_ == other.state_; }

  /// Returns the number of handles of this memory. 1: no other Storage shares it, so no other tensor sees it. Reads
  /// through a handle that another thread released happen before the return.
  [[nodiscard]] long handle_count() const noexcept {
    const long count = state_.use_count();
    std::atomic_thread_fence(std::memory_order_acquire);
    return count;
  }

  /// Defers `work` until the next access to the bytes; it never runs if there is none. Increments the version at once
  /// and runs work deferred before. REQUIRES: handle_count() == 1, memory of the CPU, not frozen().
  void defer(std::unique_ptr<PendingWork> work);

  /// Returns the deferred work, null if none. REQUIRES: handle_count() == 1.
  [[nodiscard]] PendingWork* pending() const noexcept;

 private:
  struct Block;
  struct State;
  explicit Storage(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Copies bytes between memory of any two devices, and waits for the copy if one is the CPU; a copy between GPUs is in
/// the order of their work. REQUIRES: the ranges do not overlap.
/// Throws DeviceError if a GPU reports an error.
void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size);

}  // namespace troupe
