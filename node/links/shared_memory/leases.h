// Leases: a peer holds one as long as it may read a block. It gives a lease back by writing one word of a page that
// both processes map, so that no message is needed, and none can be lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/links/shared_memory/segment.h"
#include "node/links/shared_memory/segment_pool.h"

namespace troupe::detail {

/// A lease by its place in the page. Generations grow, and never repeat, also not in a later page of the same two
/// nodes: they begin at a random number.
struct LeaseId {
  std::uint32_t slot = 0;
  std::uint64_t generation = 0;
  friend bool operator==(const LeaseId&, const LeaseId&) = default;
};

/// The most leases of one peer. Messages beyond them are copied.
inline constexpr std::size_t kLeasesMax = 8192;
inline constexpr std::size_t kLeasePageBytes = kLeasesMax * sizeof(std::uint64_t);

/// The owner's side: the blocks that one life of a peer holds. Takes memory for as many leases as the peer held at a
/// time, and none for their ends. Thread-safe.
class LeaseTable {
 public:
  /// Errors: resource_exhausted.
  [[nodiscard]] static Result<std::shared_ptr<LeaseTable>> make();
  explicit LeaseTable(Segment page);

  /// Of the page, for the peer.
  [[nodiscard]] int descriptor() const { return page_.file.get(); }

  /// Returns a lease of `block`; nullopt if the peer holds kLeasesMax.
  [[nodiscard]] std::optional<LeaseId> open(std::shared_ptr<Block> block);
  /// The same of memory of another kind, which find() does not return.
  [[nodiscard]] std::optional<LeaseId> open_other(std::shared_ptr<const void> memory);

  /// The peer was told of the lease: only collect() ends it.
  void told(LeaseId lease);

  /// The message with the lease will not be sent again. Ends the lease if the peer was never told of it.
  void message_ended(LeaseId lease);

  /// Ends the leases that the peer has given back and whose messages have ended. Before that a message may be sent
  /// again, and the peer may hold the lease again.
  void collect();

  /// Returns whether the peer has let the page go: it reads no block any more, and holds no lease again.
  [[nodiscard]] bool was_left() const;

  /// Ends all leases. REQUIRES: the peer has let the page go, or its process has ended.
  void end_all();

  /// Returns the block of an open lease that the peer was told of; null if there is none.
  [[nodiscard]] std::shared_ptr<Block> find(LeaseId lease) const;

  [[nodiscard]] std::size_t size() const;

 private:
  struct Slot {
    std::shared_ptr<const void> memory;  ///< null: free
    Block* block = nullptr;              ///< which is the memory; null if that is of another kind
    std::uint64_t generation = 0;
    bool told = false;
    bool in_message = false;  ///< which may be sent, or sent again
  };
  [[nodiscard]] std::optional<LeaseId> open(std::shared_ptr<const void> memory, Block* block);
  /// Doubles the slots. Returns false if there are kLeasesMax. The end of a lease needs no memory: the lists have room
  /// for all slots. REQUIRES: mutex_ is held.
  bool add_slots();
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t slot) const;

  const Segment page_;
  mutable std::mutex mutex_;
  std::uint64_t last_generation_;    ///< guarded by mutex_
  std::vector<Slot> slots_;          ///< guarded by mutex_
  std::vector<std::uint32_t> free_;  ///< guarded by mutex_
  std::vector<std::uint32_t> open_;  ///< guarded by mutex_
};

/// The reader's side of the page of one peer. The destructor tells the owner that the page was left: leases of packets
/// that were never read end with it. Thread-safe.
class LeasePage {
 public:
  /// REQUIRES: this process maps the page once. Errors: as map_segment().
  [[nodiscard]] static Result<std::shared_ptr<const LeasePage>> map(const FileDescriptor& file);
  explicit LeasePage(std::shared_ptr<const Mapping> memory) : memory_(std::move(memory)) {}
  ~LeasePage();
  LeasePage(const LeasePage&) = delete;
  LeasePage& operator=(const LeasePage&) = delete;

  /// Has no effect if a later lease of the slot was given back. REQUIRES: lease.slot < kLeasesMax.
  void give_back(LeaseId lease) const noexcept;
  /// Returns whether that lease, or a later one of the slot, was given back. REQUIRES: as give_back().
  [[nodiscard]] bool was_given_back(LeaseId lease) const noexcept;
  /// The lease is held, also if it was given back before. Returns false if a later lease of the slot was given back:
  /// its owner has ended this one. REQUIRES: as give_back().
  [[nodiscard]] bool hold(LeaseId lease) const noexcept;

 private:
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t slot) const noexcept;

  const std::shared_ptr<const Mapping> memory_;
};

/// A lease that this process holds, given back in the destructor, and the memory that it is for; null: that could not
/// be mapped.
class Lease {
 public:
  Lease(LeaseId id, std::shared_ptr<const LeasePage> page, std::shared_ptr<const Mapping> segment)
      : id_(id), page_(std::move(page)), segment_(std::move(segment)) {}
  ~Lease() { page_->give_back(id_); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] LeaseId id() const noexcept { return id_; }
  /// Tells one life of a peer from another.
  [[nodiscard]] const LeasePage* page() const noexcept { return page_.get(); }
  [[nodiscard]] const std::shared_ptr<const Mapping>& segment() const noexcept { return segment_; }

 private:
  const LeaseId id_;
  const std::shared_ptr<const LeasePage> page_;
  const std::shared_ptr<const Mapping> segment_;
};

}  // namespace troupe::detail
