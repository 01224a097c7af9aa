#include "tests/bench/counts/counted_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace troupe::bench {
namespace {

constexpr int kPatienceMs = 180'000;  // below valgrind, operations take a hundred times as long

struct Pipe {
  detail::FileDescriptor read_end;
  detail::FileDescriptor write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "pipe2");
  return {detail::FileDescriptor(ends[0]), detail::FileDescriptor(ends[1])};
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  all.reserve(words.size() + 1);
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

/// Starts the first of `words`, which is found along PATH, with the given standard input and output.
pid_t spawn(std::vector<std::string> words, const Variables& environment, int input, int output) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(fmt::format("{}={}", name, value));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  pid_t pid = -1;
  const int error =
      posix_spawnp(&pid, words.front().c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::system_error(error, std::generic_category(), words.front());
  return pid;
}

std::uint64_t wakeups_of(pid_t process) {
  std::uint64_t sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process))) {
    std::ifstream status(thread.path() / "status");
    for (std::string word; status >> word;) {
      std::uint64_t switches = 0;
      if (word == "voluntary_ctxt_switches:" && status >> switches) sum += switches;
    }
  }
  return sum;
}

std::uint64_t page_faults_of(pid_t process) {
  std::ifstream stat(fmt::format("/proc/{}/stat", process));
  std::vector<std::string> fields;
  for (std::string word; stat >> word;) fields.push_back(word);
  return std::stoull(fields.at(9)) + std::stoull(fields.at(11));
}

}  // namespace

CountedProcess::CountedProcess(const Workload& work, const Variables& environment,
                               const std::vector<std::string>& wrapper) {
  Pipe input = make_pipe();
  Pipe output = make_pipe();
  std::vector<std::string> words = wrapper;
  words.insert(words.end(), {std::filesystem::canonical("/proc/self/exe"), "--workload", work.operation, work.transport,
                             std::to_string(work.peers)});
  pid_ = spawn(std::move(words), environment, input.read_end.get(), output.write_end.get());
  to_ = std::move(input.write_end);
  from_ = std::move(output.read_end);
}

CountedProcess::~CountedProcess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void CountedProcess::begin() {
  static_cast<void>(write(to_.get(), "\n", 1));
  processes_ = {pid_};
  std::istringstream others(read_line());
  for (pid_t process = 0; others >> process;) processes_.push_back(process);
}

std::int64_t CountedProcess::run(std::uint64_t operations) {
  const std::string line = fmt::format("{}\n", operations);
  static_cast<void>(write(to_.get(), line.data(), line.size()));
  return std::stoll(read_line());
}

void CountedProcess::end() {
  to_.close();
  if (read_line() != "ended") throw std::runtime_error("a workload did not end cleanly");
  // The pipe closes at the process's very end. Before it, waitpid would take stops that a SyscallTracer waits for.
  for (char byte = 0; read(from_.get(), &byte, 1) > 0;) continue;
  waitpid(pid_, nullptr, 0);  // fails if a SyscallTracer has reaped the process
  pid_ = -1;
}

std::uint64_t CountedProcess::wakeups() const {
  std::uint64_t sum = 0;
  for (const pid_t process : processes_) sum += wakeups_of(process);
  return sum;
}

std::uint64_t CountedProcess::page_faults() const {
  std::uint64_t sum = 0;
  for (const pid_t process : processes_) sum += page_faults_of(process);
  return sum;
}

std::string CountedProcess::read_line() {
  while (unread_.find('\n') == std::string::npos) {
    pollfd readable{from_.get(), POLLIN, 0};
    if (poll(&readable, 1, kPatienceMs) <= 0) throw std::runtime_error("a workload gave no answer in time");
    char buffer[256];
    const ssize_t bytes = read(from_.get(), buffer, sizeof buffer);
    if (bytes <= 0) throw std::runtime_error("a workload ended too early");
    unread_.append(buffer, static_cast<std::size_t>(bytes));
  }
  const auto end = unread_.find('\n');
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + 1);
  return line;
}

}  // namespace troupe::bench
