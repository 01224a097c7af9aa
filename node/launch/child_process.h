// One process that the launcher started: alone in its process group, ended with the launcher, its output in pipes.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "node/config/settings.h"
#include "node/file_descriptor.h"
#include "node/keys/key_ring.h"
#include "node/launch/filled_pipe.h"
#include "node/launch/log_view.h"
#include "node/launch/process_guard.h"
#include "node/launch/supervision.h"

namespace troupe::detail {

struct ChildSpec {
  std::filesystem::path program;
  std::vector<std::string> arguments;  ///< after the program's name
  Variables environment;
  std::filesystem::path working_dir;  ///< empty: the launcher's own
  bool takes_input = false;           ///< its standard input is a pipe, instead of /dev/null
  bool may_gain_privileges = false;   ///< programs that it starts may be setuid or have capabilities, as helpers of ssh
  std::optional<KeyRing> keys;        ///< its own; nullopt: it gets none
};

/// Lives from exec to the end of the whole process group. REQUIRES: one thread at a time; constructed on the main
/// thread, because the kernel ends the child with the *thread* that forked it.
class ChildProcess {
 public:
  /// Returns when the program runs. The child gets `secret`, unless that is empty, in the pipe TROUPE_SECRET_FD and its
  /// keys in TROUPE_KEYS_FD (see descriptor_with), each read once, default signal handling, and no other descriptor.
  /// Throws SpawnError. REQUIRES: `guard` outlives it.
  ChildProcess(const ChildSpec& spec, std::span<const std::byte> secret, const ProcessGuard& guard);

  /// Kills the processes that still run.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Returns the pipe with its output; non-blocking.
  [[nodiscard]] FileDescriptor& output(Output stream) { return outputs_[static_cast<std::size_t>(stream)]; }

  /// Returns the pipe to its standard input, if it has one; non-blocking.
  [[nodiscard]] FileDescriptor& input() { return input_; }

  /// Sends `signal` to the process and to those of its group: what it started, unless that has left the group.
  void send(int signal) const noexcept;

  /// Returns whether process `pid`, a child of this process that was not reaped, is this one.
  [[nodiscard]] bool is(pid_t pid) const noexcept { return !ended_ && pid_ == pid; }

  /// Returns how the process ended; nullopt while it runs. Its end also ends the processes left in its group.
  [[nodiscard]] std::optional<ExitStatus> try_end();

 private:
  ExitStatus reap();

  const ProcessGuard& guard_;
  pid_t pid_ = -1;
  bool ended_ = false;
  FileDescriptor input_;
  std::array<FileDescriptor, 2> outputs_;
};

}  // namespace troupe::detail
