// The state that a shared link keeps for each peer, and the owners of frames that it sends. For the link's source files
// only.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>

#include "node/links/shared_memory/agreement.h"
#include "node/links/shared_memory/out_ring.h"
#include "node/links/shared_memory/shared_link.h"
#include "tensor/storage.h"

namespace troupe {

/// Returns whether a peer's place of a frame is one in memory of `size` bytes.
inline bool lies_in(std::uint64_t offset, std::uint64_t bytes, std::size_t size) {
  return bytes > 0 && offset <= size && bytes <= size - offset;
}

/// Memory of a pool that has ended, as long as peers must be told: what is left of it returns to the pool.
template <class Pool>
class Untold {
 public:
  explicit Untold(Pool& pool) : pool_(pool), ids_(pool.take_ended()) {}
  ~Untold() { pool_.give_back_ended(std::move(ids_)); }
  Untold(const Untold&) = delete;
  Untold& operator=(const Untold&) = delete;

  [[nodiscard]] bool empty() const { return ids_.empty(); }
  [[nodiscard]] std::uint32_t front() const { return ids_.front(); }
  /// All peers were told of the first.
  void pop() { ids_.pop_front(); }

 private:
  Pool& pool_;
  std::list<std::uint32_t> ids_;
};

/// A lease of a peer's GPU block that this process holds, and the block, of no bytes if it could not be opened. The
/// destructor waits for what this process has requested of the GPU, which may still read the block, and gives the lease
/// back.
class SharedLink::GpuLease {
 public:
  GpuLease(std::shared_ptr<const detail::GpuMemory> gpus, int gpu, detail::GpuMemory::Opened block, detail::LeaseId id,
           std::shared_ptr<const detail::LeasePage> page)
      : page_(std::move(page)), gpus_(std::move(gpus)), gpu_(gpu), block_(std::move(block)), id_(id) {}
  ~GpuLease();
  GpuLease(const GpuLease&) = delete;
  GpuLease& operator=(const GpuLease&) = delete;

  [[nodiscard]] detail::LeaseId id() const noexcept { return id_; }
  [[nodiscard]] int gpu() const noexcept { return gpu_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return block_.bytes; }

 private:
  const std::shared_ptr<const detail::LeasePage> page_;  ///< ends last: then the block is closed
  const std::shared_ptr<const detail::GpuMemory> gpus_;
  const int gpu_;
  const detail::GpuMemory::Opened block_;
  const detail::LeaseId id_;
};

/// A segment that a peer has handed over.
struct SharedLink::TheirSegment {
  std::shared_ptr<const detail::Mapping> memory;  ///< null: it could not be mapped
  std::uint64_t serial = 0;                       ///< of its coming
};

/// The memory of a peer's lost life, as far as the link holds it. It ends without a lock: the page last, which tells
/// the peer that the rest is closed.
struct SharedLink::TheirMemory {
  std::shared_ptr<const detail::LeasePage> page;
  std::map<std::uint32_t, TheirSegment> segments;
  std::map<std::uint32_t, detail::GpuMemory::Opened> blocks;
};

/// What a shared link knows of the GPUs of a peer.
struct SharedLink::OtherGpus {
  // This node's memory at the peer.
  std::map<int, detail::Agreement> offers;  ///< by GPU
  std::map<std::uint32_t, MaybeOpen> told;  ///< by allocation
  // The peer's memory here.
  std::map<std::uint32_t, int> offered;  ///< not accepted yet; numbers at the peer and here
  std::map<std::uint32_t, int> gpus;     ///< accepted; numbers at the peer and here
  std::map<std::uint32_t, detail::GpuMemory::Opened> open;
  /// A lease of the peer's block that this process holds, or held last in that slot.
  struct Held {
    detail::LeaseId id;
    std::weak_ptr<const GpuLease> lease;
  };
  std::unordered_map<std::uint32_t, Held> leases;  ///< by slot
};

/// One life of a peer, with the memory of both directions.
struct SharedLink::Other {
  explicit Other(Peer p)
      : peer(std::move(p)), token(detail::random_inbox_token()), shown(detail::shown_by(peer.name, token)) {}

  /// A lease of the peer's memory that this process holds, or held last in that slot.
  struct Held {
    detail::LeaseId id;
    std::weak_ptr<const detail::Lease> lease;
    std::span<const std::byte> bytes;  ///< which are sent back as a place; empty: none
  };

  /// Returns a segment of the peer; null: it could not be mapped; nullopt: it has not come. Takes `mutex`.
  [[nodiscard]] std::optional<std::shared_ptr<const detail::Mapping>> segment(std::uint32_t number) {
    const std::lock_guard lock(mutex);
    const auto found = segments.find(number);
    return found == segments.end() ? std::nullopt : std::optional(found->second.memory);
  }

  /// Takes out the segment that came first of those that no lease holds; null if there is none, or it was not mapped.
  /// The peer hands it over again if it still uses it. REQUIRES: mutex is held.
  std::shared_ptr<const detail::Mapping> drop_oldest_segment() {
    const auto age = [](const auto& one) {
      const auto& [number, segment] = one;
      return std::pair(segment.memory.use_count() > 1, segment.serial);
    };
    const auto oldest = std::ranges::min_element(segments, {}, age);
    if (oldest == segments.end() || oldest->second.memory.use_count() > 1) return nullptr;
    return std::move(segments.extract(oldest).mapped().memory);
  }

  /// Returns the lease whose frame has `bytes` whole; null if there is none. REQUIRES: mutex is held.
  [[nodiscard]] std::shared_ptr<const detail::Lease> lease_over(std::span<const std::byte> bytes) const {
    auto after = by_address.upper_bound(bytes.data());
    if (after == by_address.begin()) return nullptr;
    const Held& held = slots.at((--after)->second);
    if (bytes.data() + bytes.size() > held.bytes.data() + held.bytes.size()) return nullptr;
    return held.lease.lock();
  }

  /// `bytes`: as Held's. REQUIRES: mutex is held.
  void hold(const std::shared_ptr<const detail::Lease>& lease, std::span<const std::byte> bytes) {
    Held& held = slots[lease->id().slot];
    if (const auto old = by_address.find(held.bytes.data());
        old != by_address.end() && old->second == lease->id().slot) {
      by_address.erase(old);
    }
    held = {.id = lease->id(), .lease = lease, .bytes = bytes};
    if (!bytes.empty()) by_address[bytes.data()] = lease->id().slot;
  }

  const Peer peer;
  const detail::InboxToken token;  ///< which the peer is told
  const detail::InboxToken shown;  ///< what the peer makes of it, and proves itself with in this node's inbox

  std::mutex mutex;            // guards the rest
  bool is_elsewhere = false;   ///< it has no inbox on this host
  detail::Agreement to_share;  ///< this node's memory
  detail::Agreement to_ring;   ///< through a ring of this node
  detail::Agreement to_read;   ///< what the peer has offered
  detail::Agreement to_fit;    ///< of the last message with large tensors
  int hellos_repeated = 0;     ///< while it has said none
  // This node's memory at the peer.
  std::string inbox;
  detail::InboxToken its_token{};
  detail::InboxToken shown_to_it{};            ///< what this node makes of that
  std::shared_ptr<detail::LeaseTable> leases;  ///< null before the peer's hello
  std::map<std::uint32_t, bool> introduced;    ///< segments that the peer was given; false: one did not come
  bool inbox_is_full = false;                  ///< one could not be given, and the peer was not told yet
  detail::FileDescriptor process;              ///< of the peer; tells its end. Open: frames can be shared
  // The peer's memory here.
  std::shared_ptr<const detail::LeasePage> page;
  std::map<std::uint32_t, TheirSegment> segments;
  std::uint64_t segments_came = 0;
  std::unordered_map<std::uint32_t, Held> slots;
  std::map<const std::byte*, std::uint32_t> by_address;  ///< slots by the first byte of their frame
  OtherGpus gpus;
  // The rings between them.
  std::shared_ptr<const detail::Mapping> offered;  ///< the peer's, not read yet
  std::optional<detail::Doorbell> doorbell;        ///< of the peer, which will say which bell
  std::optional<std::uint32_t> bell;               ///< of the peer's ring, which is read
  Keys bell_keys = {};                             ///< when the peer offered that ring
  Keys ring_keys = {};                             ///< when this node offered its own

  detail::OutRing ring;  ///< thread-safe
};

/// The owner of a frame that was shared, as long as its message may be sent: its memory, and its lease.
struct SharedLink::Sent {
  /// Of `receivers`, or without a lease yet.
  Sent(detail::SharedEntry e, std::shared_ptr<const void> m) : entry(e), memory(std::move(m)) {}
  /// The lease ends with this owner, unless the peer was told of it.
  void take(detail::LeaseId lease, std::shared_ptr<detail::LeaseTable> of) noexcept {
    entry.lease = lease;
    leases = std::move(of);
  }
  ~Sent() {
    if (leases) leases->message_ended(entry.lease);
  }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;

  detail::SharedEntry entry;                   ///< without the position
  const std::shared_ptr<const void> memory;    ///< for `receivers` the detail::Lease
  std::shared_ptr<detail::LeaseTable> leases;  ///< null for `receivers`

  /// The frame, leased to a later life of the receiver, for all times that the message is sent to it. Not leased: it
  /// was not. Guarded by the link's mutex.
  mutable Frame renewed{};
};

/// The copy of a tensor's bytes in a block. It stays with the tensor until the bytes are written, and serves later
/// sends.
class SharedLink::Copy final : public Derived {
 public:
  Copy(const detail::SegmentPool* pool, std::span<const std::byte> of, std::shared_ptr<detail::Block> block,
       std::shared_ptr<std::atomic<std::size_t>> kept_bytes)
      : pool_(pool), of_(of), block_(std::move(block)), kept_bytes_(std::move(kept_bytes)) {
    kept_bytes_->fetch_add(of_.size(), std::memory_order_relaxed);
  }
  ~Copy() override { kept_bytes_->fetch_sub(of_.size(), std::memory_order_relaxed); }

  /// Two nodes of one process send the same tensors: each has copies of its own.
  [[nodiscard]] bool is_of(const detail::SegmentPool* pool, std::span<const std::byte> bytes) const {
    return pool == pool_ && bytes.data() == of_.data() && bytes.size() == of_.size();
  }
  [[nodiscard]] const std::shared_ptr<detail::Block>& block() const { return block_; }

 private:
  const detail::SegmentPool* const pool_;  ///< alive: the block holds it
  const std::span<const std::byte> of_;
  const std::shared_ptr<detail::Block> block_;
  const std::shared_ptr<std::atomic<std::size_t>> kept_bytes_;
};

}  // namespace troupe
