#include "tests/conformance/node_process.h"

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "node/node.h"
#include "tests/conformance/all_functions.h"
#include "tests/conformance/test_functions.h"
#include "tests/support/share_nothing.h"

namespace troupe::testing {
namespace {

constexpr int kSecretDescriptor = 3;
constexpr int kKeysDescriptor = 4;

/// Its number is above those that the child uses.
detail::FileDescriptor high(int descriptor) {
  const detail::FileDescriptor low(descriptor);
  return detail::FileDescriptor(fcntl(descriptor, F_DUPFD_CLOEXEC, 16));
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe for secrets");
    read_end = high(ends[0]);
    write_end = detail::FileDescriptor(ends[1]);
  }
  detail::FileDescriptor read_end;
  detail::FileDescriptor write_end;
};

/// Runs in the child after fork in a program with threads: may call only async-signal-safe functions.
[[noreturn]] void become(char* const* arguments, int secret, int keys, int place, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(126);
  if (place >= 0 && setns(place, CLONE_NEWNET) != 0) _exit(125);
  dup2(secret, kSecretDescriptor);
  dup2(keys, kKeysDescriptor);
  close_range(kKeysDescriptor + 1, ~0U, 0);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

/// Drops root's privileges for a user that owns nothing else. This process still ends with its parent.
void become_user(uid_t user) {
  const pid_t parent = getppid();
  if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot become another user");
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) throw std::runtime_error("the parent has ended");
}

/// Async-signal-safe.
bool set_limit(pid_t process, __rlimit_resource resource, rlim_t most) {
  rlimit limits{};
  if (prlimit(process, resource, nullptr, &limits) != 0) return false;
  limits.rlim_cur = std::min(most, limits.rlim_max);
  return prlimit(process, resource, &limits, nullptr) == 0;
}

std::string text_of(const siginfo_t& end) {
  return end.si_code == CLD_EXITED ? fmt::format("exit {}", end.si_status) : fmt::format("signal {}", end.si_status);
}

}  // namespace

NodeProcess::NodeProcess(const NodeProcessOptions& options, const ClusterSecret& secret) : user_(options.user) {
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
                                     options.log_level,
                                     options.bind,
                                     options.advertise,
                                     std::to_string(options.user),
                                     options.network == Network::trusted ? "trusted"
                                     : options.keys                      ? "keys"
                                                                         : "loopback",
                                     std::to_string(options.liveness.lease.count()),
                                     options.liveness.debug ? "debugged" : "judged",
                                     options.joins_anew ? "joins anew" : "joins once",
                                     options.shares ? "shares" : "shares nothing"};
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  const Pipe secret_pipe;
  const Pipe keys_pipe;
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ < 0) throw std::runtime_error("no fork");
  if (pid_ == 0) become(pointers.data(), secret_pipe.read_end.get(), keys_pipe.read_end.get(), options.place, parent);
  alive_ = detail::FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  static_cast<void>(secret.to_descriptor(secret_pipe.write_end.get()).value());
  if (options.keys) static_cast<void>(options.keys->to_descriptor(keys_pipe.write_end.get()).value());
}

NodeProcess::~NodeProcess() {
  if (pid_ > 0) kill();
}

void NodeProcess::send(int signal) const { ::kill(running(), signal); }

/// Returns its process id. Throws if it has ended, because the number might then denote other processes.
pid_t NodeProcess::running() const {
  if (pid_ <= 0) throw std::logic_error("[NodeProcess] it has ended");
  return pid_;
}

void NodeProcess::limit(__rlimit_resource resource, rlim_t most) const {
  if (user_ == 0) {
    if (!set_limit(running(), resource, most)) throw std::system_error(errno, std::generic_category(), "no limit");
    return;
  }
  // Root may lack the privilege to act on a process of another user.
  const pid_t process = running();
  const pid_t setter = fork();
  if (setter < 0) throw std::runtime_error("no fork");
  if (setter == 0) {
    const bool became =
        syscall(SYS_setresgid, user_, user_, user_) == 0 && syscall(SYS_setresuid, user_, user_, user_) == 0;
    _exit(became && set_limit(process, resource, most) ? 0 : 1);
  }
  int status = 0;
  if (waitpid(setter, &status, 0) != setter || status != 0) throw std::runtime_error("no limit");
}

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

/// The program of a NodeProcess. Never part of a test run.
BOOST_AUTO_TEST_CASE(node_process, *boost::unit_test::disabled()) {
  const auto& suite = boost::unit_test::framework::master_test_suite();
  BOOST_REQUIRE(suite.argc == 15);
  if (const auto user = static_cast<uid_t>(std::stoul(suite.argv[9])); user != 0) become_user(user);
  NodeOptions options;
  options.name = suite.argv[1];
  options.cluster_id = "conformance";
  options.seed = suite.argv[2];
  options.world_size = static_cast<std::uint32_t>(std::stoul(suite.argv[3]));
  options.pool.threads = std::stoul(suite.argv[4]);
  options.pool.threads_max = std::stoul(suite.argv[5]);
  options.log_level = suite.argv[6];
  options.secret = ClusterSecret::from_descriptor(kSecretDescriptor).value();
  options.bind = suite.argv[7];
  if (suite.argv[10] == std::string_view("trusted")) options.network = Network::trusted;
  if (suite.argv[10] == std::string_view("keys")) options.keys = KeyRing::from_descriptor(kKeysDescriptor).value();
  options.liveness.lease = std::chrono::milliseconds(std::stoll(suite.argv[11]));
  options.liveness.debug = suite.argv[12] == std::string_view("debugged");
  if (const std::string advertise = suite.argv[8]; !advertise.empty()) options.link_options["advertise"] = advertise;
  if (options.seed.starts_with("ipc://")) options.bind = options.seed + "-" + options.name;
  if (suite.argv[14] == std::string_view("shares nothing")) share_nothing(options);
  const bool joins_anew = suite.argv[13] == std::string_view("joins anew");
  bool lives = true;
  while (lives) {
    Node node = Node::join(options, functions_of(options.name));
    node.serve();
    const ShutdownReport report = node.stop();
    BOOST_CHECK_MESSAGE(report.clean(),
                        fmt::format("{} waited for {}", options.name, fmt::join(report.waited_for, "; ")));
    lives = joins_anew && node.declared_dead();
  }
}

}  // namespace troupe::testing
