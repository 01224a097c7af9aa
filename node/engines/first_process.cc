#include "node/engines/first_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "node/launch/child_process.h"

namespace troupe::detail {
namespace {

/// Reaps all that has ended. Exits with the status of `child` if that is among them.
void reap_until_end_of(pid_t child) {
  int status = 0;
  for (pid_t ended = 0; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (ended == child) _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
  }
}

/// REQUIRES: `all` is blocked, so that none is lost.
[[noreturn]] void look_after(pid_t child, const sigset_t& all) {
  while (true) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&all, &info);
    if (signal == SIGCHLD) {
      reap_until_end_of(child);
    } else if (signal > 0 && info.si_code <= 0) {  // what the kernel sends, as a terminal does, reaches the child too
      kill(child, signal);
    }
  }
}

}  // namespace

void leave_first_process() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  const auto handler = ::signal(SIGCHLD, SIG_DFL);  // if ignored, the child would be reaped unseen
  const pid_t child = fork();
  const int error = errno;
  if (child > 0) look_after(child, all);
  ::signal(SIGCHLD, handler);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) throw SpawnError(fmt::format("cannot fork: {}", strerror(error)));
}

}  // namespace troupe::detail
