// Makes this process inherit its children's orphans, so that it sees them end and no zombie of them stays.
#pragma once

#include <sys/prctl.h>
#include <sys/wait.h>

#include <functional>

namespace troupe::detail {

class Subreaper {
 public:
  Subreaper() {
    prctl(PR_GET_CHILD_SUBREAPER, &previous_);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  ~Subreaper() { prctl(PR_SET_CHILD_SUBREAPER, previous_); }
  Subreaper(const Subreaper&) = delete;
  Subreaper& operator=(const Subreaper&) = delete;

  /// Reaps the orphans that have ended: those children of this process of which `is_own` is false. Call it after
  /// SIGCHLD, once the own ones that have ended are reaped: for each that ends later, another SIGCHLD comes.
  void reap_orphans(const std::function<bool(pid_t)>& is_own) const {
    siginfo_t info{};
    while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 && !is_own(info.si_pid)) {
      waitpid(info.si_pid, nullptr, WNOHANG);
      info = {};
    }
  }

 private:
  int previous_ = 0;
};

}  // namespace troupe::detail
