#include "node/launch/process_guard.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

namespace troupe::detail {
namespace {

struct Ends {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Ends open_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

/// One message to the guard: watch `leader`, or forget it.
struct GuardMessage {
  pid_t leader;
  bool watched;
};

void send(int descriptor, GuardMessage message) noexcept {
  // At most PIPE_BUF bytes: all or nothing. Without a guard there is still PR_SET_PDEATHSIG.
  while (::write(descriptor, &message, sizeof message) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void run_guard(int from_launcher, int ready) {
  ::setsid();  // leaves the launcher's group and terminal, whose signals must not reach the guard
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (::write(ready, "", 1) != 1) _exit(1);
  prctl(PR_SET_NAME, "troupe-guard");
  if (from_launcher != STDIN_FILENO) dup2(from_launcher, STDIN_FILENO);
  close_range(STDIN_FILENO + 1, ~0U, 0);
  std::set<pid_t> groups;
  GuardMessage message{};
  while (true) {
    const ssize_t size = ::read(STDIN_FILENO, &message, sizeof message);
    if (size < 0 && errno == EINTR) continue;
    if (size != static_cast<ssize_t>(sizeof message)) break;
    if (message.watched) {
      groups.insert(message.leader);
    } else {
      groups.erase(message.leader);
    }
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

}  // namespace

ProcessGuard::ProcessGuard() {
  Ends orders = open_pipe();
  Ends ready = open_pipe();
  to_guard_ = std::move(orders.write_end);
  guard_ = fork();
  if (guard_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (guard_ == 0) run_guard(orders.read_end.get(), ready.write_end.get());
  ready.write_end.close();
  char byte = 0;
  ssize_t size = 0;
  while ((size = ::read(ready.read_end.get(), &byte, 1)) < 0 && errno == EINTR) {
  }
  if (size == 1) return;
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
  throw std::system_error(ECHILD, std::generic_category(), "the guard of the processes ended at once");
}

ProcessGuard::~ProcessGuard() {
  to_guard_.close();
  while (waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ProcessGuard::watch(pid_t leader) const noexcept { send(to_guard_.get(), {leader, true}); }

void ProcessGuard::forget(pid_t leader) const noexcept { send(to_guard_.get(), {leader, false}); }

}  // namespace troupe::detail
