// What the first process of a container does for the program below it: here it is any process.
#include "node/engines/first_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

namespace troupe::detail {
namespace {

/// A process that looks after a shell with `script`.
class FirstProcess {
 public:
  explicit FirstProcess(const std::string& script) {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(pipe(ends.data()) == 0);
    process_ = fork();
    BOOST_REQUIRE(process_ >= 0);
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_CHILD_SUBREAPER, 1);
      dup2(ends[1], STDOUT_FILENO);
      leave_first_process();
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl("/bin/sh", "sh", "-c", script.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    output_ = ends[0];
  }
  ~FirstProcess() { close(output_); }
  FirstProcess(const FirstProcess&) = delete;
  FirstProcess& operator=(const FirstProcess&) = delete;

  [[nodiscard]] pid_t number() const { return process_; }

  [[nodiscard]] char next_character() const {
    char next = 0;
    return read(output_, &next, 1) == 1 ? next : '\0';
  }

  /// Returns the status with which it exits; -1 if a signal ends it.
  [[nodiscard]] int status() const {
    int status = 0;
    BOOST_REQUIRE(waitpid(process_, &status, 0) == process_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t process_ = -1;
  int output_ = -1;
};

BOOST_AUTO_TEST_SUITE(first_process)

BOOST_AUTO_TEST_CASE(the_first_process_has_the_status_of_the_program) {
  BOOST_TEST(FirstProcess("exit 0").status() == 0);
  BOOST_TEST(FirstProcess("exit 7").status() == 7);
  BOOST_TEST(FirstProcess("kill -KILL $$").status() == 137);  // 128 + 9
}

BOOST_AUTO_TEST_CASE(a_signal_to_the_first_process_ends_the_program) {
  const FirstProcess first("echo r; exec sleep 60");
  BOOST_TEST(first.next_character() == 'r');
  kill(first.number(), SIGTERM);
  BOOST_TEST(first.status() == 143);  // 128 + 15
}

BOOST_AUTO_TEST_CASE(the_program_may_handle_what_is_passed_on) {
  const FirstProcess first("trap 'echo h' HUP; trap 'exit 9' TERM; echo r; while :; do sleep 0.01; done");
  BOOST_TEST(first.next_character() == 'r');
  BOOST_TEST(first.next_character() == '\n');
  kill(first.number(), SIGHUP);
  BOOST_TEST(first.next_character() == 'h');
  kill(first.number(), SIGTERM);
  BOOST_TEST(first.status() == 9);
}

BOOST_AUTO_TEST_CASE(orphans_are_reaped_while_the_program_goes_on) {
  const FirstProcess first(
      "orphan=$(sh -c 'sleep 0 >&- & echo $!'); for i in $(seq 1000); do kill -0 $orphan 2>&- || exit 5; sleep 0.01; "
      "done; exit 6");
  BOOST_TEST(first.status() == 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
