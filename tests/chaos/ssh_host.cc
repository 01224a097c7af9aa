#include "tests/chaos/ssh_host.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <stdexcept>

#include "tests/chaos/capabilities.h"

namespace troupe::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSshd = "/usr/sbin/sshd";
constexpr const char* kUnshare = "unshare --mount --pid --ipc --uts --fork --kill-child --mount-proc ";

}  // namespace

boost::test_tools::assertion_result NeedsSshd::operator()(boost::unit_test::test_unit_id unit) const {
  boost::test_tools::assertion_result result = NeedsNamespaces{}(unit);
  if (!result) return result;
  result = false;
  if (!fs::exists(kSshd) || !fs::exists("/usr/bin/ssh") || geteuid() != 0) {
    result.message() << "needs root, openssh-server and openssh-client";
    return result;
  }
  try {
    NetworkNamespace().run(kUnshare + std::string("mount -t tmpfs none /run"));
    return true;
  } catch (const std::exception& error) {
    result.message() << error.what();
    return result;
  }
}

SshLogin::SshLogin(const fs::path& directory) : directory_(directory) {
  for (const char* key : {"key", "host_key"}) {
    NetworkNamespace().run(fmt::format("ssh-keygen -q -t ed25519 -N '' -f {}/{}", directory_.string(), key));
  }
  std::ofstream(config()) << fmt::format(
      "Host *\n  Port 2200\n  IdentityFile {0}/key\n  StrictHostKeyChecking no\n  UserKnownHostsFile {0}/known\n"
      "  LogLevel ERROR\n",
      directory_.string());
}

std::string SshLogin::agent_at(const std::string& address) const {
  return fmt::format(R"(["ssh", "-F", "{}", "-T", "-o", "BatchMode=yes", "{}", "{}", "agent"])", config().string(),
                     address, TROUPE_PROGRAM);
}

fs::path SshLogin::server_at(const std::string& name, const std::vector<std::string>& addresses) const {
  fs::path file = directory_ / ("sshd_" + name);
  std::ofstream out(file);
  for (const std::string& address : addresses) out << fmt::format("ListenAddress [{}]:2200\n", address);
  out << fmt::format(
      "HostKey {0}/host_key\nAuthorizedKeysFile {0}/key.pub\nPidFile none\nStrictModes no\nUsePAM no\n"
      "PermitRootLogin yes\nLogLevel ERROR\n",
      directory_.string());
  return file;
}

SshHost::SshHost(const NetworkNamespace& network, const SshLogin& login, const std::string& name,
                 const std::vector<std::string>& addresses) {
  const std::string line = fmt::format(
      "exec {} sh -c 'hostname {} && mount -t tmpfs none /run && mkdir /run/sshd && mount -t tmpfs none /dev/shm && "
      "exec {} -D -e -f {}'",
      kUnshare, name, kSshd, login.server_at(name, addresses).string());
  const NetworkNamespace::Inside there(network);
  unshare_ = fork();
  if (unshare_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
  }
  network.run("timeout 10 sh -c 'until ss -Hltn sport = 2200 | grep -q LISTEN; do sleep 0.01; done'");
}

SshHost::~SshHost() {
  // The kernel reaps a machine's first process after all others of it.
  pid_t sshd = 0;
  if (std::ifstream(fmt::format("/proc/{0}/task/{0}/children", unshare_)) >> sshd) {
    kill(sshd, SIGTERM);
  } else {
    kill(unshare_, SIGKILL);
  }
  waitpid(unshare_, nullptr, 0);
}

std::vector<pid_t> SshHost::processes() const {
  std::error_code gone;  // processes end meanwhile
  const fs::path own = fs::read_symlink(fmt::format("/proc/{}/ns/pid_for_children", unshare_));
  std::vector<pid_t> found;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc")) {
    if (fs::read_symlink(entry.path() / "ns/pid", gone) != own) continue;
    std::string program;
    std::getline(std::ifstream(entry.path() / "comm"), program);
    if (!program.empty() && program != "sshd") found.push_back(std::stoi(entry.path().filename()));
  }
  return found;
}

HostEnd::HostEnd(const SshHost& host) : host_(host) {
  for (const pid_t pid : host.processes()) ends_.emplace_back(pid);
  if (ends_.empty()) throw std::runtime_error("nothing runs on the host");
}

bool HostEnd::comes() const {
  return std::ranges::all_of(ends_, [](const ProcessEnd& end) { return end.comes(); }) && host_.processes().empty();
}

}  // namespace troupe::testing
