// How far the trainers of one optimizer are apart: who may take its next step, with bounded staleness. Plain rules: no
// CAF, no clock of the machine; one thread at a time. Rules SH-14 and SH-15 of PROTOCOLS.md.
//
// The clock of a trainer counts its steps. A trainer may take a step while its clock exceeds that of the slowest
// trainer by at most `staleness`: so no two are more than staleness + 1 steps apart. Source: Ho et al., "More effective
// distributed ML via a stale synchronous parallel parameter server", 2013.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "messages/ids.h"

namespace troupe::detail {

class TrainerClocks {
 public:
  /// The most waits of one trainer. Its steps follow each other: a second wait means that it gave up the first.
  static constexpr std::size_t kWaitsMax = 64;

  /// Names a wait; chosen by the caller.
  using Ticket = std::uint64_t;

  /// A wait that is over.
  struct Ready {
    Ticket ticket = 0;
    std::uint64_t clock = 0;    ///< of the trainer
    std::uint64_t slowest = 0;  ///< of all trainers
    friend bool operator==(const Ready&, const Ready&) = default;
  };

  /// The trainer counts from now on, from the clock of the slowest. No effect if it counts already.
  void join(const OptimizerId& trainer);

  /// The trainer has taken `steps` more steps. It joins with the first.
  void took(const OptimizerId& trainer, std::uint64_t steps);

  /// The trainer waits to take a step. It joins if it has not. Returns the waits that it gave up, beyond kWaitsMax.
  [[nodiscard]] std::vector<Ticket> wait(const OptimizerId& trainer, std::uint64_t staleness, Ticket ticket);

  /// The trainer is gone, or has released its handle: it no longer counts. Returns its waits, which end without a step.
  [[nodiscard]] std::vector<Ticket> leave(const OptimizerId& trainer);

  /// Returns the waits that are over, in the order in which they began. Call it after every event above.
  [[nodiscard]] std::vector<Ready> take_ready();

  /// Returns 0 without trainers.
  [[nodiscard]] std::uint64_t slowest() const;

  [[nodiscard]] std::size_t waits() const noexcept { return waits_.size(); }

 private:
  struct Wait {
    OptimizerId trainer;
    std::uint64_t staleness = 0;
    Ticket ticket = 0;
  };

  std::map<OptimizerId, std::uint64_t> clocks_;
  std::vector<Wait> waits_;  // the oldest first
};

}  // namespace troupe::detail
