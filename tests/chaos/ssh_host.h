// Machines of a test that are reached by ssh: each with its own network, processes, mounts, shared memory and name.
#pragma once

#include <sys/types.h>

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/chaos/network_namespace.h"
#include "tests/support/process_end.h"

namespace troupe::testing {

/// Namespaces of all these kinds, an sshd and a login as root.
struct NeedsSshd {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// The key of a login, and the key by which hosts are known, in `directory`. It outlives all users.
class SshLogin {
 public:
  explicit SshLogin(const std::filesystem::path& directory);

  /// Returns the file for `ssh -F`.
  [[nodiscard]] std::filesystem::path config() const { return directory_ / "ssh_config"; }

  /// Returns the `agent` of a [[host]] of a cluster file: ssh to `address`, and the program there.
  [[nodiscard]] std::string agent_at(const std::string& address) const;

  /// Writes the configuration of an sshd that listens at these addresses; returns its file.
  [[nodiscard]] std::filesystem::path server_at(const std::string& name,
                                                const std::vector<std::string>& addresses) const;

 private:
  std::filesystem::path directory_;
};

/// One machine with an sshd, its first process: no process of the machine outlives it. Files are those of this machine,
/// but for /proc, /run and /dev/shm.
class SshHost {
 public:
  /// Waits until sshd listens. `addresses` are addresses of `network`.
  SshHost(const NetworkNamespace& network, const SshLogin& login, const std::string& name,
          const std::vector<std::string>& addresses);
  ~SshHost();
  SshHost(const SshHost&) = delete;
  SshHost& operator=(const SshHost&) = delete;

  /// Returns the numbers, outside of the machine, of its processes other than those of sshd.
  [[nodiscard]] std::vector<pid_t> processes() const;

 private:
  pid_t unshare_ = -1;
};

/// The end of all that runs on a host, but for sshd.
class HostEnd {
 public:
  /// REQUIRES: none of its processes ends meanwhile. Throws std::runtime_error if nothing runs there.
  explicit HostEnd(const SshHost& host);

  /// Returns whether it comes, each process within 10 s, and nothing else runs there then.
  [[nodiscard]] bool comes() const;

 private:
  const SshHost& host_;
  std::vector<ProcessEnd> ends_;
};

}  // namespace troupe::testing
