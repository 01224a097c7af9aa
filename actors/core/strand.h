// Runs jobs on the pool one after the other, in the order of submission.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/executor.h"

namespace troupe::detail {

/// How many jobs of a strand one job of the pool runs, if more wait.
enum class PerTurn : std::uint8_t {
  all,  ///< the strand holds a thread until it is empty
  one,  ///< the rest of the strand then waits its turn behind the other jobs of the pool
};

/// Thread rule: any thread may call. Holds no thread while it is idle. Submitted jobs run even if the strand is
/// destroyed. A pool that ends without having run or refused a job of the strand destroys the queued jobs.
class Strand {
 public:
  Strand(std::shared_ptr<Executor> executor, std::string label, PerTurn per_turn = PerTurn::all);

  /// Runs `job` on the pool. Calls `refused` if the pool refuses the job, or with the exception that the job throws.
  /// REQUIRES: `refused` does not throw.
  void run(std::function<void()> job, std::function<void(const Error&)> refused);

 private:
  struct State;
  class Turn;
  static void go_on(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace troupe::detail
