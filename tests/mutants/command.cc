#include "tests/mutants/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

namespace mutants {
namespace {

[[noreturn]] void begin(const Command& command, std::vector<char*>& words, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  if (chdir(command.folder.c_str()) != 0) _exit(127);
  const int output = open(command.output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0);
  dup2(output, 1);
  dup2(output, 2);
  for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
  execvp(words.front(), words.data());
  _exit(127);
}

}  // namespace

Ended run(const Command& command) {
  std::vector<char*> words;
  for (const std::string& word : command.words) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const auto begun = std::chrono::steady_clock::now();
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) begin(command, words, parent);
  setpgid(child, child);
  Ended ended;
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (handle < 0) throw std::system_error(errno, std::generic_category(), "pidfd_open");
  pollfd end{handle, POLLIN, 0};
  ended.timed_out = poll(&end, 1, command.limit ? static_cast<int>(command.limit->count()) : -1) == 0;
  close(handle);
  kill(-child, SIGKILL);  // and the processes that it left
  int status = 0;
  waitpid(child, &status, 0);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  ended.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  ended.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
  return ended;
}

std::string contents_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_to(const std::filesystem::path& file, const std::string& text) {
  if (contents_of(file) == text && std::filesystem::exists(file)) return;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace mutants
