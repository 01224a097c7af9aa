#include "tests/bench/rpc/floors/other_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <system_error>

namespace troupe::bench {

void check(bool right, const char* what) {
  if (!right) throw std::system_error(errno, std::generic_category(), what);
}

OtherProcess::OtherProcess(const std::function<void()>& work) : pid_(::fork()) {
  check(pid_ >= 0, "fork");
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    work();
    ::_exit(0);
  } catch (const std::exception& error) {  // what the other one holds is not ended here
    std::fprintf(stderr, "floor: %s\n", error.what());
    ::_exit(1);
  }
}

OtherProcess::~OtherProcess() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace troupe::bench
