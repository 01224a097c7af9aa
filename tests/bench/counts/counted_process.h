// A process that runs a workload, and what it and the processes of the other nodes have used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "node/config/settings.h"
#include "node/file_descriptor.h"
#include "tests/bench/counts/workload.h"

namespace troupe::bench {

/// REQUIRES: one thread at a time.
class CountedProcess {
 public:
  /// Starts this program with `work`, as an argument of `wrapper`, such as valgrind and its options, if that is not
  /// empty. The process waits for begin().
  CountedProcess(const Workload& work, const Variables& environment, const std::vector<std::string>& wrapper);

  /// Kills the process if it runs still.
  ~CountedProcess();
  CountedProcess(const CountedProcess&) = delete;
  CountedProcess& operator=(const CountedProcess&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }

  /// Starts the nodes.
  void begin();

  /// Runs so many operations. Returns the messages that all nodes have sent so far; -1 if they are not known.
  std::int64_t run(std::uint64_t operations);

  /// Ends the nodes, and waits for the end of their processes.
  void end();

  // Of the processes of all nodes, since their start.
  [[nodiscard]] std::uint64_t wakeups() const;      ///< of living threads: voluntary context switches
  [[nodiscard]] std::uint64_t page_faults() const;  ///< with and without reading from a disk

 private:
  [[nodiscard]] std::string read_line();

  pid_t pid_ = -1;
  detail::FileDescriptor to_;
  detail::FileDescriptor from_;
  std::string unread_;
  std::vector<pid_t> processes_;  // of all nodes
};

}  // namespace troupe::bench
