// Proofs by a munged of the test's own.
#include "node/engines/munge_proof.h"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/expect_throw.h"
#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

using boost::unit_test::label;
using boost::unit_test::precondition;
using troupe::testing::expect_throw;
using troupe::testing::TemporaryDirectory;

const std::string kMunged = "/usr/sbin/munged";
const std::string kWords = "troupe-task 1\njob j\n";

boost::test_tools::assertion_result has_munged(boost::unit_test::test_unit_id) {
#if __has_include(<munge.h>)
  boost::test_tools::assertion_result result = access(kMunged.c_str(), X_OK) == 0;
#else
  boost::test_tools::assertion_result result = false;
#endif
  if (!result) result.message() << "needs " << kMunged << ", and a build with munge.h";
  return result;
}

boost::test_tools::assertion_result has_munged_and_is_root(boost::unit_test::test_unit_id unit) {
  if (geteuid() == 0) return has_munged(unit);
  boost::test_tools::assertion_result result = false;
  result.message() << "needs root";
  return result;
}

/// A running munged with a key of its own.
class Munged {
 public:
  explicit Munged(char key) {
    chmod(directory_.path().c_str(), 0711);  // other users may use it
    std::ofstream(path("key")) << std::string(128, key);
    chmod(path("key").c_str(), 0600);
    std::vector<std::string> arguments{kMunged, "--foreground", "--force"};
    for (const char* file : {"key-file=key", "socket=socket", "pid-file=pid", "log-file=log", "seed-file=seed"}) {
      const std::string word = file;
      const std::size_t split = word.find('=') + 1;
      arguments.push_back("--" + word.substr(0, split) + path(word.substr(split)));
    }
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      (void)freopen("/dev/null", "w", stderr);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
  }
  ~Munged() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Munged(const Munged&) = delete;
  Munged& operator=(const Munged&) = delete;

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_.path() / name).string(); }
  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Returns its proofs once it answers.
  [[nodiscard]] std::shared_ptr<RecordProof> proof() const {
    for (const auto due = std::chrono::steady_clock::now() + std::chrono::seconds(20);;) {
      try {
        return munge_proof(path("socket"), Engine::slurm).proof;
      } catch (const ProofError&) {
        if (std::chrono::steady_clock::now() >= due) throw;
      }
    }
  }

  /// Returns what a command of the shell prints, where $S is the socket.
  [[nodiscard]] std::string run(const std::string& command) const {
    const std::string line = fmt::format("S={}; {}", path("socket"), command);
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), &pclose);
    std::string text;
    for (int c = fgetc(pipe.get()); c != EOF; c = fgetc(pipe.get())) text.push_back(static_cast<char>(c));
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

 private:
  TemporaryDirectory directory_;
  pid_t pid_ = -1;
};

BOOST_AUTO_TEST_SUITE(munge_proofs)

BOOST_AUTO_TEST_CASE(a_task_may_do_without, *precondition(has_munged)) {
  BOOST_TEST(munge_proof("off", Engine::slurm).proof == nullptr);
  BOOST_TEST(munge_proof("off", Engine::slurm).why_none == "--munge is off");
  BOOST_TEST(munge_proof("auto", Engine::open_mpi).proof == nullptr);
  BOOST_TEST(munge_proof("auto", Engine::open_mpi).why_none == "it is no task of Slurm");
}

BOOST_AUTO_TEST_CASE(a_munge_that_was_asked_for_must_be_there, *precondition(has_munged)) {
  expect_throw<ProofError>([] { return munge_proof("yes", Engine::slurm); },
                           "--munge is \"yes\", expected auto, off or the absolute path of a socket");
  const TemporaryDirectory nothing;
  const std::string socket = (nothing.path() / "socket").string();
  expect_throw<ProofError>(
      [&] { return munge_proof(socket, Engine::slurm); },
      fmt::format("MUNGE: Failed to access \"{}\": No such file or directory (Did you start munged?)", socket));
}

BOOST_AUTO_TEST_CASE(a_task_of_slurm_uses_the_munge_of_its_machine_if_there_is_one, *precondition(has_munged)) {
  const TemporaryDirectory nothing;
  const std::string socket = (nothing.path() / "socket").string();
  BOOST_TEST(munge_proof("auto", Engine::slurm, socket).proof == nullptr);
  BOOST_TEST(munge_proof("auto", Engine::slurm, socket).why_none == "there is no " + socket);
  const Munged munged('a');
  const std::string word = munged.proof()->of(kWords);
  const auto proof = munge_proof("auto", Engine::slurm, munged.path("socket")).proof;
  BOOST_REQUIRE(proof != nullptr);
  BOOST_CHECK_NO_THROW(proof->check(word, kWords));
}

BOOST_AUTO_TEST_CASE(a_machine_whose_munged_does_not_answer_does_not_pass_for_one_without,
                     *precondition(has_munged) * label("attack")) {
  const Munged munged('a');
  (void)munged.proof();
  kill(munged.pid(), SIGKILL);
  waitid(P_PID, static_cast<id_t>(munged.pid()), nullptr, WEXITED | WNOWAIT);
  expect_throw<ProofError>(
      [&] { return munge_proof("auto", Engine::slurm, munged.path("socket")); },
      fmt::format("MUNGE: Failed to connect to \"{}\": Connection refused: `--munge off` lets all tasks do without",
                  munged.path("socket")));
}

BOOST_AUTO_TEST_CASE(a_text_of_this_user_is_believed_more_than_once, *precondition(has_munged)) {
  const Munged munged('a');
  const auto proof = munged.proof();
  const std::string word = proof->of(kWords);
  BOOST_TEST(word.size() < RecordProof::kBytesMax);
  BOOST_TEST(word.find_first_of(" \n") == std::string::npos);
  for (int i = 0; i < 2; ++i) BOOST_CHECK_NO_THROW(proof->check(word, kWords));
  expect_throw<std::invalid_argument>([&] { proof->check(word, kWords + "rank 1\n"); },
                                      "its MUNGE credential is of another text");
  expect_throw<std::invalid_argument>([&] { proof->check("MUNGE:AwQDAAB:", kWords); },
                                      "MUNGE: Failed to base64-decode credential");
}

BOOST_AUTO_TEST_CASE(a_credential_of_another_key_is_refused, *precondition(has_munged)) {
  const Munged ours('a');
  const Munged theirs('b');
  const auto proof = ours.proof();
  const std::string word = theirs.proof()->of(kWords);
  expect_throw<std::invalid_argument>(
      [&] { proof->check(word, kWords); },
      "MUNGE: Invalid credential (do all machines have the same key of MUNGE? --munge names another socket, or off)");
}

BOOST_AUTO_TEST_CASE(a_credential_of_another_user_is_refused, *precondition(has_munged_and_is_root)) {
  const Munged munged('a');
  const auto proof = munged.proof();
  const std::string said =
      munged.run(fmt::format("echo {} | unmunge --socket $S --metadata=/dev/null", proof->of(kWords)));
  BOOST_TEST(said.starts_with("troupe-record "));
  const std::string other =
      munged.run(fmt::format("setpriv --reuid 65534 --clear-groups munge --socket $S --string '{}'", said));
  BOOST_TEST(other.starts_with("MUNGE:"));
  expect_throw<std::invalid_argument>([&] { proof->check(other, kWords); }, "user 65534 has written it, expected 0");
}

BOOST_AUTO_TEST_CASE(a_munged_that_is_gone_ends_a_task_with_the_reason, *precondition(has_munged)) {
  const Munged munged('a');
  const auto proof = munged.proof();
  const std::string word = proof->of(kWords);
  std::filesystem::remove(munged.path("socket"));
  const std::string reason = fmt::format(
      "MUNGE: Failed to access \"{}\": No such file or directory (Did you start munged?)", munged.path("socket"));
  expect_throw<ProofError>([&] { return proof->of(kWords); }, reason);
  expect_throw<ProofError>([&] { proof->check(word, kWords); }, reason);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
