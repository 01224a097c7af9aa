// The destination of the process's log while a simulated world lives.
#pragma once

#include <memory>

#include "node/sim/schedule.h"

namespace troupe::sim {

/// While it lives, its world's trace receives what a thread logs that has the world's baton: the newest one's, if the
/// thread has those of several worlds. What other threads log goes where it went before. Thread rule: each world's own
/// thread makes and ends its own; other threads may log meanwhile.
class LogInTrace {
 public:
  explicit LogInTrace(std::shared_ptr<Schedule> schedule);
  ~LogInTrace();
  LogInTrace(const LogInTrace&) = delete;
  LogInTrace& operator=(const LogInTrace&) = delete;

 private:
  const std::shared_ptr<Schedule> schedule_;
};

}  // namespace troupe::sim
