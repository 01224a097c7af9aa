// Wakes the thread that receives a node's packets, from any process of this host.
//
// A page that the receiving process and its peers map: a bit for each ring that has got a packet, and the place where a
// thread sleeps that must be woken. A ring costs no system call while a thread is receiving. A peer could write
// anything to the page: a bit too many costs a look at a ring, and a wake-up that it took away is made up for within
// kSleepMax.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "messages/error.h"
#include "node/file_descriptor.h"
#include "node/links/shared_memory/segment.h"

namespace troupe::detail {

inline constexpr std::size_t kBellWords = 64;
/// The most bells of a node, one for each ring that it reads.
inline constexpr std::uint32_t kBellsMax = kBellWords * 64;
inline constexpr std::size_t kDoorbellBytes = 4096;

/// The owner's own bell, for its orders to the receiving thread.
inline constexpr std::uint32_t kOwnBell = 0;

/// A sleeping thread looks at its bells after this time at the latest.
inline constexpr std::chrono::milliseconds kSleepMax{200};

/// A page of bells, as each process maps it. Thread rule: any thread may call any member; one at a time those that say
/// "receiver".
class Doorbell {
 public:
  /// Makes the page of this process. Errors: resource_exhausted.
  [[nodiscard]] static Result<Doorbell> make();

  /// Maps the page of a peer. Errors: as map_segment().
  [[nodiscard]] static Result<Doorbell> map(const FileDescriptor& file);

  /// Of the page, for peers. REQUIRES: this process made it.
  [[nodiscard]] int descriptor() const { return file_.get(); }

  /// Rings bell number `bell`, and wakes the receiver if it sleeps. REQUIRES: bell < kBellsMax.
  void ring(std::uint32_t bell) const noexcept;

  /// The bells that were rung, one bit each.
  using Rung = std::array<std::uint64_t, kBellWords>;
  /// The receiver takes the bells that were rung since the last call. Returns whether there are any.
  [[nodiscard]] bool take(Rung& rung) const noexcept;

  /// The receiver sleeps until a bell is rung, at most kSleepMax; it may return early. Returns false if that time has
  /// passed.
  bool sleep() const noexcept;

 private:
  Doorbell(FileDescriptor file, std::shared_ptr<const Mapping> page) : file_(std::move(file)), page_(std::move(page)) {}

  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t number) const noexcept;
  [[nodiscard]] std::atomic_ref<std::uint32_t> asleep() const noexcept;
  [[nodiscard]] bool any_rung() const noexcept;

  FileDescriptor file_;  ///< open in the process that made the page
  std::shared_ptr<const Mapping> page_;
};

}  // namespace troupe::detail
