#include "tests/support/troupe_run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <utility>

namespace troupe::testing {
namespace {

constexpr std::chrono::seconds kLimitOfProcesses{10};

/// Returns whether `descriptor` has data or has ended before `deadline`.
bool readable(int descriptor, std::chrono::steady_clock::time_point deadline) {
  pollfd polled{descriptor, POLLIN, 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return ::poll(&polled, 1, static_cast<int>(std::max<std::int64_t>(left, 0))) > 0;
}

}  // namespace

TroupeRun::TroupeRun(const std::filesystem::path& directory, std::vector<std::string> arguments,
                     std::chrono::seconds limit, uid_t user)
    : deadline_(std::chrono::steady_clock::now() + limit) {
  arguments.insert(arguments.begin(), TROUPE_PROGRAM);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::array<int, 2> output{};
  std::array<int, 2> alive{};
  if (pipe2(output.data(), O_CLOEXEC) != 0 || pipe2(alive.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no fork");
  if (pid_ == 0) {
    dup2(output[1], STDOUT_FILENO);
    dup2(output[1], STDERR_FILENO);
    dup2(alive[1], STDERR_FILENO + 1);
    close_range(STDERR_FILENO + 2, ~0U, 0);
    // The system calls, because the library's functions would wait for other threads, which are not here.
    if (user != 0 && (syscall(SYS_setgroups, 0, nullptr) != 0 || syscall(SYS_setresgid, user, user, user) != 0 ||
                      syscall(SYS_setresuid, user, user, user) != 0))
      _exit(126);
    if (chdir(directory.c_str()) == 0) execv(pointers[0], pointers.data());
    _exit(127);
  }
  output_ = detail::FileDescriptor(output[0]);
  alive_ = detail::FileDescriptor(alive[0]);
  ::close(output[1]);
  ::close(alive[1]);
}

TroupeRun::~TroupeRun() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string TroupeRun::wait_for(const std::string& text) {
  std::size_t next = 0;
  while (true) {
    for (; next < lines_.size(); ++next) {
      if (lines_[next].find(text) != std::string::npos && returned_.insert(next).second) return lines_[next];
    }
    read_more();
    if (!output_.is_open()) {
      std::string all = "the output ended before a line with \"" + text + "\" came:\n";
      for (const std::string& line : lines_) all += line + "\n";
      throw std::runtime_error(all);
    }
  }
}

std::vector<std::string> TroupeRun::lines_within(std::chrono::milliseconds time) {
  const auto before = static_cast<std::ptrdiff_t>(lines_.size());
  const auto end = std::chrono::steady_clock::now() + time;
  while (output_.is_open() && readable(output_.get(), end)) take_bytes();
  return {lines_.begin() + before, lines_.end()};
}

void TroupeRun::signal(int number) const { kill(pid_, number); }

TroupeRun::Result TroupeRun::finish() {
  while (output_.is_open()) read_more();
  return {wait_for_exit(), lines_};
}

bool TroupeRun::all_gone() {
  char byte = 0;
  return readable(alive_.get(), std::chrono::steady_clock::now() + kLimitOfProcesses) &&
         ::read(alive_.get(), &byte, 1) == 0;
}

void TroupeRun::read_more() {
  if (!readable(output_.get(), deadline_)) {
    std::string all = "the time is over:\n";
    for (const std::string& line : lines_) all += line + "\n";
    throw std::runtime_error(all);
  }
  take_bytes();
}

void TroupeRun::take_bytes() {
  std::array<char, 65536> buffer;
  const ssize_t size = ::read(output_.get(), buffer.data(), buffer.size());
  if (size <= 0) return output_.close();
  unfinished_.append(buffer.data(), static_cast<std::size_t>(size));
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = unfinished_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines_.push_back(unfinished_.substr(begin, end - begin));
  }
  unfinished_.erase(0, begin);
}

int TroupeRun::wait_for_exit() {
  const detail::FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!process.is_open() || !readable(process.get(), deadline_)) throw std::runtime_error("troupe does not end");
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace troupe::testing
