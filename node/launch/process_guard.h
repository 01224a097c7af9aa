// Ends every process group of a launcher that died without doing it itself, by kill -9 for example.
//
// The guard is a process that waits for the end of a pipe whose other end only the launcher holds. PR_SET_PDEATHSIG of
// the nodes is faster but reaches neither their children nor what those started.
#pragma once

#include <sys/types.h>

#include "node/file_descriptor.h"

namespace troupe::detail {

class ProcessGuard {
 public:
  /// Forks the guard. Call it while the process has one thread only, before any node is started.
  /// Throws std::system_error.
  ProcessGuard();

  /// Ends the guard, which kills what was watched and not forgotten.
  ~ProcessGuard();
  ProcessGuard(const ProcessGuard&) = delete;
  ProcessGuard& operator=(const ProcessGuard&) = delete;

  /// Kills the group `leader` if the launcher ends without having said forget(). Called by the leader itself between
  /// fork and exec: no moment is left in which it could start something unwatched.
  void watch(pid_t leader) const noexcept;

  /// Call it before the leader is reaped: afterwards its number may name somebody else's group.
  void forget(pid_t leader) const noexcept;

 private:
  FileDescriptor to_guard_;
  pid_t guard_ = -1;
};

}  // namespace troupe::detail
