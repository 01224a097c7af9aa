// The end of a process that may be no child of this one.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "node/file_descriptor.h"

namespace troupe::testing {

class ProcessEnd {
 public:
  /// REQUIRES: process `pid` runs.
  explicit ProcessEnd(pid_t pid) : process_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {}

  /// Returns whether the process had not been reaped when this object was made.
  [[nodiscard]] bool is_open() const { return process_.is_open(); }

  /// Returns whether it comes within 10 s.
  [[nodiscard]] bool comes() const {
    pollfd polled{process_.get(), POLLIN, 0};
    return process_.is_open() && ::poll(&polled, 1, 10'000) > 0;
  }

 private:
  detail::FileDescriptor process_;
};

}  // namespace troupe::testing
