// Wakes the thread that receives a node's packets, from any process of this host.
//
// A page that the receiving process and its peers map. It has a bit for each ring that has got a packet, and tells
// which of the owner's threads must be woken. A bell costs no system call while a thread is receiving. A peer can write
// anything to the page: a false bit costs a look at a ring, and a suppressed wake-up delays packets, or a job for the
// thread at the idle berth, only until the owner looks for them, which it does now and then.
#pragma once

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

/// Where a thread of the owner sleeps. One thread at a time for each.
enum class Berth : std::uint32_t {
  nobody = 0,
  receiver = 1,  ///< the thread whose job it is to receive
  waiter = 2,    ///< one that receives while it waits for an answer
  idle = 3,      ///< one of the pool that receives while it has no job
};

/// A page of bells, as each process maps it. Thread rule: any thread may call any member; members for "the receiving
/// thread" one thread at a time.
class Doorbell {
 public:
  /// Makes the page of this process. Errors: resource_exhausted.
  [[nodiscard]] static Result<Doorbell> make();

  /// Maps the page of a peer. Errors: as map_segment().
  [[nodiscard]] static Result<Doorbell> map(const FileDescriptor& file);

  /// Of the page, for peers. REQUIRES: this process made it.
  [[nodiscard]] int descriptor() const { return file_.get(); }

  /// Rings bell number `bell`, and wakes the thread that is expected to receive, if it sleeps. REQUIRES: bell <
  /// kBellsMax.
  void ring(std::uint32_t bell) const noexcept;

  /// As ring(), and wakes nobody: for the receiving thread itself.
  void remind(std::uint32_t bell) const noexcept;

  /// The receiving thread takes the words of 64 bells of which any was rung, one bit each, then the bells of each.
  [[nodiscard]] std::uint64_t take_words() const noexcept;
  [[nodiscard]] std::uint64_t take_bells(std::uint32_t of_word) const noexcept;
  [[nodiscard]] bool any_rung() const noexcept;

  /// From now on a bell wakes the thread at `berth`, once. REQUIRES: the caller then looks at the bells before that
  /// thread sleeps.
  void expect(Berth berth) const noexcept;

  /// Returns false if nobody has woken `berth` since the last call of settle() within `at_most`. May return true early.
  bool wait(Berth berth, std::chrono::nanoseconds at_most) const noexcept;
  /// Forgets earlier wake-ups of `berth`, before its thread looks once more for work and then sleeps in wait().
  void settle(Berth berth) const noexcept;
  void wake(Berth berth) const noexcept;

 private:
  Doorbell(FileDescriptor file, std::shared_ptr<const Mapping> page) : file_(std::move(file)), page_(std::move(page)) {}

  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t number) const noexcept;
  [[nodiscard]] std::atomic_ref<std::uint32_t> expected() const noexcept;
  [[nodiscard]] std::atomic_ref<std::uint32_t> woken(Berth berth) const noexcept;
  [[nodiscard]] std::uint32_t* word_address(Berth berth) const noexcept;

  FileDescriptor file_;  ///< open in the process that made the page
  std::shared_ptr<const Mapping> page_;
};

}  // namespace troupe::detail
