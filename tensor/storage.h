// The memory behind tensors: shared by views, versioned, and frozen while someone outside still reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "tensor/device.h"

namespace troupe {

/// Bytes that stay alive and unchanged while this object, a copy of it or its `owner()` exists.
/// Any thread may copy, read and release it.
class FrozenBytes {
 public:
  FrozenBytes() = default;
  FrozenBytes(std::shared_ptr<const void> owner, std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// What keeps the bytes; may outlive this object.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const noexcept { return owner_; }

  /// Returns a part of these bytes under the same owner. Requires offset + size <= bytes().size().
  [[nodiscard]] FrozenBytes part(std::size_t offset, std::size_t size) const {
    return {owner_, bytes_.subspan(offset, size)};
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

/// Work on the bytes of a Storage that waits until somebody looks at them.
class PendingWork {
 public:
  PendingWork() = default;
  virtual ~PendingWork() = default;
  PendingWork(const PendingWork&) = delete;
  PendingWork& operator=(const PendingWork&) = delete;

  /// Called once, on the thread that looks, under a lock that no other Storage needs.
  virtual void run(std::byte* bytes) const noexcept = 0;
};

/// Handle of one block of memory; copies are the same memory, seen by every tensor that views it.
///
/// Every write goes through `mutable_data()`. While a FrozenBytes of the block lives, a write first moves this Storage
/// to a fresh block with the same bytes: all tensors on this Storage see the write, holders of the token do not.
///
/// Threads: `freeze`, `version` and the release of tokens are safe at any time. As with any memory, one thread's
/// `mutable_data` (and the writes that follow) must not overlap another's reads or writes of the same Storage.
class Storage {
 public:
  /// No memory at all; `size()` is 0.
  Storage() = default;

  /// Allocates `size` bytes, uninitialised, aligned to 64.
  [[nodiscard]] static Storage allocate(std::size_t size, Device device = Device::cpu());

  /// Adopts memory of the CPU that someone else keeps, a mapped file for example: no copy, nothing is written there.
  /// The first write moves this Storage to a block of its own, as if the bytes were frozen for ever.
  /// Throws ValueError `[adopt] nobody keeps these bytes` if they have no owner.
  [[nodiscard]] static Storage adopt(const FrozenBytes& bytes);

  [[nodiscard]] bool defined() const noexcept { return state_ != nullptr; }
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] Device device() const noexcept;

  /// Returns the bytes for reading; on a GPU an address there. Valid until the next `mutable_data()` of this Storage.
  [[nodiscard]] const std::byte* data() const noexcept;

  /// Returns the bytes for writing and counts a new version. Valid until the next `freeze()` or `mutable_data()`;
  /// fetch it before the `data()` of whatever may alias it.
  [[nodiscard]] std::byte* mutable_data();

  /// Returns the present bytes, kept as they are until the result is released. No copy.
  [[nodiscard]] FrozenBytes freeze() const;

  /// Notes that a span over the present bytes is in somebody's hands, who may read and write it at any time: no arithmetic on
  /// them is put off from now on, until a write moves this Storage.
  void expose() const noexcept;

  /// Whether expose() was called since the last move.
  [[nodiscard]] bool exposed() const noexcept;

  /// Whether a FrozenBytes of the present block is alive or the block is adopted, so that the next write would copy.
  [[nodiscard]] bool frozen() const noexcept;

  /// How many times the bytes were opened for writing.
  [[nodiscard]] std::uint64_t version() const noexcept;

  /// Whether both are handles of the same memory.
  [[nodiscard]] bool same_as(const Storage& other) const noexcept { return state_ == other.state_; }

  /// How many handles of this memory there are. 1 means that nobody else can see it or get to see it.
  [[nodiscard]] long handle_count() const noexcept { return state_.use_count(); }

  /// Counts a new version, as if the work were done, but leaves it to whoever asks for the bytes next, or to nobody. Work
  /// that was put off before is done first. Only through the one handle there is, of memory of the CPU that is not frozen.
  void put_off(std::unique_ptr<PendingWork> work);

  /// The work that was put off, through the one handle there is; null if none.
  [[nodiscard]] PendingWork* pending() const noexcept;

 private:
  struct Block;
  struct State;
  explicit Storage(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Copies bytes from memory of one device to that of another and waits until it is done. The ranges do not overlap.
/// Throws DeviceError if a GPU cannot do it.
void copy_bytes(std::byte* to, Device to_device, const std::byte* from, Device from_device, std::size_t size);

}  // namespace troupe
