#include "tests/conformance/node_process.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <utility>
#include <vector>

#include "node/node.h"
#include "tests/conformance/test_functions.h"

namespace troupe::testing {
namespace {

constexpr int kSecretDescriptor = 3;

/// In the child, after fork in a program with threads: only what is safe in a signal handler.
[[noreturn]] void become(char* const* arguments, int secret, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  dup2(secret, kSecretDescriptor);
  fcntl(kSecretDescriptor, F_SETFD, 0);  // it may have been that number already
  close_range(kSecretDescriptor + 1, ~0U, 0);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

std::string text_of(const siginfo_t& end) {
  return end.si_code == CLD_EXITED ? fmt::format("exit {}", end.si_status) : fmt::format("signal {}", end.si_status);
}

}  // namespace

NodeProcess::NodeProcess(const NodeProcessOptions& options, const ClusterSecret& secret) {
  std::vector<std::string> arguments{"node",
                                     "--run_test=node_process",
                                     "--log_level=error",
                                     "--report_level=no",
                                     "--",
                                     options.name,
                                     options.seed,
                                     std::to_string(options.world_size),
                                     std::to_string(options.pool.threads),
                                     std::to_string(options.pool.threads_max),
                                     options.log_level};
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for the secret");
  const detail::FileDescriptor read_end(ends[0]);
  detail::FileDescriptor write_end(ends[1]);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no fork");
  if (pid_ == 0) become(pointers.data(), read_end.get(), parent);
  alive_ = detail::FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  static_cast<void>(secret.to_descriptor(write_end.get()).value());
}

NodeProcess::~NodeProcess() {
  if (pid_ > 0) kill();
}

void NodeProcess::send(int signal) const { ::kill(pid_, signal); }

void NodeProcess::kill() {
  send(SIGKILL);
  static_cast<void>(waitpid(std::exchange(pid_, -1), nullptr, 0));
}

std::string NodeProcess::wait(std::chrono::milliseconds patience) {
  pollfd polled{alive_.get(), POLLIN, 0};
  siginfo_t end{};
  const bool ended = poll(&polled, 1, static_cast<int>(patience.count())) > 0;
  if (!ended || waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED) != 0) {
    kill();
    return "no end";
  }
  pid_ = -1;
  return text_of(end);
}

/// What a NodeProcess runs; never part of a test run of its own.
BOOST_AUTO_TEST_CASE(node_process, *boost::unit_test::disabled()) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  BOOST_REQUIRE(suite.argc == 7);
  NodeOptions options;
  options.name = suite.argv[1];
  options.cluster_id = "conformance";
  options.seed = suite.argv[2];
  options.world_size = static_cast<std::uint32_t>(std::stoul(suite.argv[3]));
  options.pool.threads = std::stoul(suite.argv[4]);
  options.pool.threads_max = std::stoul(suite.argv[5]);
  options.log_level = suite.argv[6];
  options.secret = ClusterSecret::from_descriptor(kSecretDescriptor).value();
  if (options.seed.starts_with("ipc://")) options.bind = options.seed + "-" + options.name;
  Node node = Node::join(options, functions_of(options.name));
  node.serve();
  const ShutdownReport report = node.stop();
  BOOST_CHECK_MESSAGE(report.clean(), fmt::format("{} waited for {}", options.name, fmt::join(report.waited_for, "; ")));
}

}  // namespace troupe::testing
