#include "node/confinement.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "tests/support/has_landlock.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

using boost::unit_test::label;

constexpr int kDone = 7;

/// Returns the signal that kills a child which does `work` in a confined process, or -1 if it ends by itself.
template <class Work>
int signal_of(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::freopen("/dev/null", "w", stderr);
    confine_process();
    work();
    ::_exit(kDone);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) return WTERMSIG(status);
  BOOST_TEST(WEXITSTATUS(status) == kDone);
  return -1;
}

void start_program() { ::execl("/bin/true", "true", nullptr); }

/// Returns whether this process may write to the memory of its parent.
bool reaches_parent() {
  const std::string memory = "/proc/" + std::to_string(::getppid()) + "/mem";
  const int descriptor = ::open(memory.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor >= 0;
}

BOOST_AUTO_TEST_SUITE(confinement, *label("attack") * label("S16"))

BOOST_AUTO_TEST_CASE(a_program_that_is_started_ends_the_process) {
  BOOST_TEST(signal_of(start_program) == SIGSYS);
  BOOST_TEST(signal_of([] { ::syscall(SYS_execveat, -1, "/bin/true", nullptr, nullptr, 0); }) == SIGSYS);
}

BOOST_AUTO_TEST_CASE(a_child_of_the_process_is_confined_too_and_dies_alone) {
  const auto as_child = [] {
    const pid_t child = ::fork();
    if (child == 0) {
      start_program();
      ::_exit(0);
    }
    int status = 0;
    (void)::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS) ::_exit(1);
  };
  BOOST_TEST(signal_of(as_child) == -1);
}

BOOST_AUTO_TEST_CASE(threads_from_before_are_confined_too) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::atomic<bool> confined = false;
    std::thread earlier([&] {
      confined.wait(false);
      start_program();
    });
    confine_process();
    confined = true;
    confined.notify_all();
    earlier.join();
    ::_exit(0);
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFSIGNALED(status));
  BOOST_TEST(WTERMSIG(status) == SIGSYS);
}

BOOST_AUTO_TEST_CASE(reaching_into_another_process_ends_the_process) {
  BOOST_TEST(signal_of([] { ::ptrace(PTRACE_SEIZE, ::getppid(), nullptr, nullptr); }) == SIGSYS);
  char byte = 0;
  const iovec here{&byte, 1};
  BOOST_TEST(signal_of([&] { ::process_vm_readv(::getppid(), &here, 1, &here, 1, 0); }) == SIGSYS);
  BOOST_TEST(signal_of([&] { ::process_vm_writev(::getppid(), &here, 1, &here, 1, 0); }) == SIGSYS);
  BOOST_TEST(signal_of([] { ::syscall(SYS_pidfd_getfd, -1, 0, 0); }) == SIGSYS);
}

BOOST_AUTO_TEST_CASE(memory_of_another_process_cannot_be_opened,
                     *boost::unit_test::precondition(testing::has_landlock)) {
  const pid_t open = ::fork();
  if (open == 0) ::_exit(reaches_parent() ? kDone : 0);
  int status = 0;
  BOOST_REQUIRE(::waitpid(open, &status, 0) == open);
  BOOST_WARN_MESSAGE(WEXITSTATUS(status) == kDone, "the system allows it nobody (Yama): this test shows nothing");
  const auto reach = [] {
    bool reached = reaches_parent();
    std::thread([&reached] { reached = reaches_parent() || reached; }).join();
    if (reached) ::_exit(1);
  };
  BOOST_TEST(signal_of(reach) == -1);
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(other_numbers_of_the_same_calls_end_the_process) {
  constexpr long kOfX32 = 0x40000000;
  BOOST_TEST(signal_of([] { ::syscall(kOfX32 | SYS_getpid); }) == SIGSYS);
}
#endif

BOOST_AUTO_TEST_CASE(all_else_goes_on_also_when_it_is_confined_again) {
  const auto others = [] {
    confine_process();
    std::thread([] {}).join();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || ::write(ends[0], "x", 1) != 1) ::_exit(1);
    if (std::FILE* file = std::fopen("/proc/self/status", "r")) std::fclose(file);
  };
  BOOST_TEST(signal_of(others) == -1);
}

BOOST_AUTO_TEST_CASE(files_move_between_directories_however_often_it_is_confined) {
  const testing::TemporaryDirectory directory;
  const auto move = [&directory] {
    for (int i = 0; i < 20; ++i) confine_process();
    std::error_code error;
    std::filesystem::create_directory(directory.path() / "to", error);
    std::ofstream(directory.path() / "file") << "x";
    std::filesystem::rename(directory.path() / "file", directory.path() / "to" / "file", error);
    if (error) ::_exit(1);
  };
  BOOST_TEST(signal_of(move) == -1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
