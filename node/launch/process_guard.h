// Ends all process groups of a launcher that died without doing so, by kill -9 for example.
//
// The guard is a process that waits for the end of a pipe whose other end only the launcher holds. PR_SET_PDEATHSIG of
// the nodes is faster but reaches neither their children nor further descendants.
//
// While it lives, this process may open as many descriptors as the system allows: each node takes several pipes.
#pragma once

#include <sys/types.h>

#include "node/descriptor_limit.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

class ProcessGuard {
 public:
  /// Forks the guard. Returns once the guard has left this process's group, so that a signal to the group does not end
  /// it. Throws std::system_error. REQUIRES: the process has one thread only, and no node is started yet.
  ProcessGuard();

  /// Ends the guard, which kills the watched groups that were not forgotten.
  ~ProcessGuard();
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;

  /// Kills the group `leader` if the launcher ends without calling forget(). The leader itself calls it between fork
  /// and exec, so that it never starts anything unwatched.
  void watch(pid_t leader) const noexcept;

  /// REQUIRES: called before the leader is reaped: afterwards its number may belong to another group.
  void forget(pid_t leader) const noexcept;

  /// Gives a leader between fork and exec the limit of descriptors that the launcher was started with.
  void restore_descriptor_limit() const noexcept { descriptors_.restore(); }

 private:
  RaisedDescriptorLimit descriptors_;
  FileDescriptor to_guard_;
  pid_t guard_ = -1;
};

}  // namespace troupe::detail
