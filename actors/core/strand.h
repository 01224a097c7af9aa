// Runs jobs on the pool one after the other, in the order they were given.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/executor.h"

namespace troupe::detail {

/// Any thread may call. Holds no thread while it has nothing to do; jobs given to a strand that is gone still run. A pool that
/// ends without having run or refused a job of the strand lets go what waits.
class Strand {
 public:
  Strand(std::shared_ptr<Executor> executor, std::string label);

  /// Calls `job` on the pool. Calls `refused`, which must not throw, with why the pool does not run the job, or with what
  /// the job threw.
  void run(std::function<void()> job, std::function<void(const Error&)> refused);

 private:
  struct State;
  class Turn;
  static void go_on(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace troupe::detail
