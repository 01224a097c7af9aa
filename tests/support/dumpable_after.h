// Whether others of its user may attach to a process, and read its memory.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>

namespace troupe::testing {

/// Does `work` in a child of this process, to which others could attach before. Returns whether they still could
/// afterwards, as PR_GET_DUMPABLE says it; -1 if `work` has thrown or ended the child. REQUIRES: this process has one
/// thread.
template <class Work>
int dumpable_after(const Work& work) {
  constexpr int kThrew = 99;
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::prctl(PR_SET_DUMPABLE, 1);
    try {
      work();
    } catch (const std::exception&) {
      ::_exit(kThrew);
    }
    ::_exit(::prctl(PR_GET_DUMPABLE));
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) && WEXITSTATUS(status) != kThrew ? WEXITSTATUS(status) : -1;
}

}  // namespace troupe::testing
