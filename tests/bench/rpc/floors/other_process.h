// The other process of a floor.
#pragma once

#include <sys/types.h>

#include <functional>

namespace troupe::bench {

/// Throws std::system_error with `what` and errno unless `right`.
void check(bool right, const char* what);

/// A copy of this process that runs `work` and no more, and is killed with this object or with the thread that made it.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<void()>& work);
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;
  ~OtherProcess();

 private:
  pid_t pid_;
};

}  // namespace troupe::bench
