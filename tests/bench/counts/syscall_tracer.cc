#include "tests/bench/counts/syscall_tracer.h"

#include <fmt/core.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>

namespace troupe::bench {
namespace {

constexpr int kRunning = -1;

/// Returns the signal to deliver when the process goes on; 0 for none.
int signal_of(int status) {
  const bool is_event = status >> 16 != 0;
  return is_event || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

bool is_syscall(int status) { return WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80); }

bool attach(pid_t thread, long options) {
  return ptrace(PTRACE_SEIZE, thread, nullptr, options) == 0 && ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0;
}

/// Attaches to the threads of a process but the first. One that ends meanwhile, or that a traced one started, cannot be
/// attached to and need not be.
void attach_to_others(pid_t process, long options) {
  std::set<pid_t> seen{process};
  for (std::size_t before = 0; before != seen.size();) {  // until none is new
    before = seen.size();
    std::error_code ended;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), ended)) {
      const pid_t thread = std::stoi(entry.path().filename().string());
      if (seen.insert(thread).second) static_cast<void>(attach(thread, options));
    }
  }
}

}  // namespace

SyscallTracer::SyscallTracer(pid_t process, Family family) {
  thread_ = std::jthread([this, process, family] { trace(process, family); });
  began_.wait(0);
  if (const int error = began_; error != kRunning) throw CannotTrace(fmt::format("ptrace: {}", strerror(error)));
}

void SyscallTracer::trace(pid_t process, Family family) {
  long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
  if (family == Family::with_children) options |= PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
  const bool attached = attach(process, options);
  if (attached) attach_to_others(process, options);
  began_ = attached ? kRunning : errno;
  began_.notify_one();
  if (!attached) return;
  for (;;) {
    int status = 0;
    const pid_t stopped = waitpid(-1, &status, __WALL | __WNOTHREAD);
    if (stopped < 0 && errno == EINTR) continue;
    if (stopped < 0) return;  // all have ended
    if (!WIFSTOPPED(status)) continue;
    int signal = 0;
    if (is_syscall(status)) stops_.fetch_add(1, std::memory_order_relaxed);
    else signal = signal_of(status);
    ptrace(PTRACE_SYSCALL, stopped, nullptr, static_cast<long>(signal));
  }
}

}  // namespace troupe::bench
