#include "node/launch/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "node/process_domain.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kInterpreterMax = 255;  // bytes of an interpreter's path in an error

/// The data of the child between fork and exec, made before the fork so that the child allocates nothing.
struct Exec {
  const char* program;
  const char* working_dir;  ///< null: inherited
  std::vector<char*> arguments;
  std::vector<char*> environment;
  int standard[3];
  int secret;   ///< -1: none
  int keys;     ///< -1: none
  int domain;   ///< its rules; -1: none
  int failure;  ///< receives errno if the program cannot start
  pid_t launcher;
  bool may_gain_privileges;
};

void restore_default_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE, SIGXFSZ, SIGCHLD, SIGWINCH}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become(const Exec& exec, const ProcessGuard& guard) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != exec.launcher) _exit(127);  // the launcher died before prctl
  if (!exec.may_gain_privileges) prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  setpgid(0, 0);
  guard.watch(getpid());
  guard.restore_descriptor_limit();
  for (int i = 0; i < 3; ++i) dup2(exec.standard[i], i);
  if (exec.secret >= 0) fcntl(exec.secret, F_SETFD, 0);
  if (exec.keys >= 0) fcntl(exec.keys, F_SETFD, 0);
  const bool is_confined = exec.domain < 0 || enter_domain(exec.domain);
  if (is_confined && (exec.working_dir == nullptr || chdir(exec.working_dir) == 0)) {
    restore_default_signals();
    execve(exec.program, exec.arguments.data(), exec.environment.data());
  }
  const int error = errno;
  const ssize_t ignored = ::write(exec.failure, &error, sizeof error);
  _exit(ignored < 0 ? 126 : 127);
}

/// Returns what to say after `error` of the start if that is about another file than the program.
std::string about_other_file(const ChildSpec& spec, int error) {
  std::error_code ignored;
  if (error != ENOENT) return "";
  if (!spec.working_dir.empty() && !std::filesystem::exists(spec.working_dir, ignored)) {
    return fmt::format(": there is no directory {}", spec.working_dir.string());
  }
  if (!std::filesystem::exists(spec.program, ignored)) return "";
  std::ifstream file(spec.program);
  std::string line;
  if (file.get() == '#' && file.get() == '!' && std::getline(file >> std::ws, line)) {
    if (line.ends_with('\r')) return ": its first line ends in \\r\\n, a script's must end in \\n";
    line = line.substr(0, std::min(line.find_first_of(" \t"), kInterpreterMax));
    if (!std::filesystem::exists(line, ignored)) {
      return fmt::format(": its first line names {}, which is not here: install that or change the line", line);
    }
  }
  return ": the loader or interpreter that it names is not here: was it built for this system?";
}

}  // namespace

ChildProcess::ChildProcess(const ChildSpec& spec, std::span<const std::byte> secret, const ProcessGuard& guard)
    : guard_(guard) {
  const FileDescriptor secret_end = secret.empty() ? FileDescriptor() : pipe_with(secret);
  const FileDescriptor keys = spec.keys ? descriptor_with(*spec.keys) : FileDescriptor();
  const FileDescriptor domain = spec.may_gain_privileges ? FileDescriptor() : domain_of(spec.environment);
  Pipe in = spec.takes_input ? make_pipe() : Pipe{FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), {}};
  if (!in.read_end.is_open()) throw SpawnError(fmt::format("cannot open /dev/null: {}", strerror(errno)));
  Pipe out = make_pipe();
  Pipe err = make_pipe();
  Pipe failure = make_pipe();

  std::vector<std::string> arguments{spec.program.string()};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  std::vector<std::string> environment = environment_lines(spec.environment);
  if (!secret.empty()) environment.push_back(fmt::format("TROUPE_SECRET_FD={}", secret_end.get()));
  if (keys.is_open()) environment.push_back(fmt::format("TROUPE_KEYS_FD={}", keys.get()));
  const Exec exec{
      .program = spec.program.c_str(),
      .working_dir = spec.working_dir.empty() ? nullptr : spec.working_dir.c_str(),
      .arguments = exec_pointers(arguments),
      .environment = exec_pointers(environment),
      .standard = {in.read_end.get(), out.write_end.get(), err.write_end.get()},
      .secret = secret_end.get(),
      .keys = keys.get(),
      .domain = domain.get(),
      .failure = failure.write_end.get(),
      .launcher = getpid(),
      .may_gain_privileges = spec.may_gain_privileges,
  };
  pid_ = fork();
  if (pid_ < 0) throw SpawnError(fmt::format("cannot fork: {}", strerror(errno)));
  if (pid_ == 0) become(exec, guard);

  failure.write_end.close();
  int error = 0;
  ssize_t size = 0;
  while ((size = ::read(failure.read_end.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (size > 0) {
    (void)reap();
    throw SpawnError(
        fmt::format("cannot start {}: {}{}", spec.program.string(), strerror(error), about_other_file(spec, error)));
  }
  outputs_ = {std::move(out.read_end), std::move(err.read_end)};
  input_ = std::move(in.write_end);
  for (const FileDescriptor& output : outputs_) fcntl(output.get(), F_SETFL, O_NONBLOCK);
  if (input_.is_open()) fcntl(input_.get(), F_SETFL, O_NONBLOCK);
}

ChildProcess::~ChildProcess() {
  if (ended_) return;
  send(SIGKILL);
  (void)reap();
}

void ChildProcess::send(int signal) const noexcept {
  if (ended_) return;
  kill(-pid_, signal);
  if (getpgid(pid_) != pid_) kill(pid_, signal);  // it has left its group
}

std::optional<ExitStatus> ChildProcess::try_end() {
  siginfo_t info{};
  if (ended_ || waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) return std::nullopt;
  if (info.si_pid == 0) return std::nullopt;
  return reap();
}

ExitStatus ChildProcess::reap() {
  // Until it is reaped its number cannot be reused, so the group is still this child's.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  kill(-pid_, SIGKILL);
  guard_.forget(pid_);
  ended_ = true;
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  // As a subreaper this process inherits the rest of the group, which dies at once unless it runs as another user.
  const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
  for (int attempt = 0; attempt < 200; ++attempt) {
    const pid_t reaped = waitpid(-pid_, nullptr, WNOHANG);
    if (reaped < 0) break;
    if (reaped == 0) nanosleep(&pause, nullptr);
  }
  return ExitStatus(status);
}

}  // namespace troupe::detail
