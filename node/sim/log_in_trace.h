// The destination of the process's log while a simulated world lives.
#pragma once

#include <memory>

#include "node/sim/schedule.h"

namespace troupe::sim {

/// Writes what the world's threads log into the trace while it lives; of several that live the newest does. What other
/// threads log goes where it went before.
class LogInTrace {
 public:
  explicit LogInTrace(std::shared_ptr<Schedule> schedule);
  ~LogInTrace();
  LogInTrace(const LogInTrace&) = delete;
  LogInTrace& operator=(const LogInTrace&) = delete;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace troupe::sim
