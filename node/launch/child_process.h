// One process that the launcher started: alone in its process group, gone with the launcher, its output in our hands.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "node/config/settings.h"
#include "node/file_descriptor.h"
#include "node/launch/log_view.h"
#include "node/launch/process_guard.h"
#include "node/launch/supervision.h"

namespace troupe::detail {

struct ChildSpec {
  std::filesystem::path program;
  std::vector<std::string> arguments;  ///< after the program's name
  Variables environment;
  std::filesystem::path working_dir;  ///< empty = ours
};

/// A program that is there did not start; the text says why.
class SpawnError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Lives from exec to the end of the whole process group. Not safe to share between threads; construct it on the main
/// thread only, because the kernel ends the child with the *thread* that forked it.
class ChildProcess {
 public:
  /// Returns when the program runs. It finds `secret` once in the pipe TROUPE_SECRET_FD, /dev/null as standard input,
  /// default signal handling, and no other descriptor of ours. `guard` outlives it. Throws SpawnError.
  ChildProcess(const ChildSpec& spec, std::span<const std::byte> secret, const ProcessGuard& guard);

  /// Kills what still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Where its output comes; non-blocking.
  [[nodiscard]] FileDescriptor& output(Output stream) { return outputs_[static_cast<std::size_t>(stream)]; }

  /// Sends `signal` to the process and to those it started.
  void send(int signal) const noexcept;

  /// Returns how the process ended; nothing while it runs. With it ends what it started and left in its group.
  [[nodiscard]] std::optional<ExitStatus> try_end();

 private:
  ExitStatus reap();

  const ProcessGuard& guard_;
  pid_t pid_ = -1;
  bool ended_ = false;
  std::array<FileDescriptor, 2> outputs_;
};

}  // namespace troupe::detail
