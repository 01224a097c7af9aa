// Counts the system calls of processes by ptrace, which needs no privileges for the caller's own descendants.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace troupe::bench {

/// This host does not let one process trace another.
class CannotTrace : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The processes that a tracer counts besides the given one.
enum class Family : std::uint8_t { alone, with_children };

/// Traces a process with all its threads, also those that it starts later, until they have ended. The traced processes
/// run as before, but each system call takes some microseconds longer.
class SyscallTracer {
 public:
  /// Throws CannotTrace. REQUIRES: `process` is a child of this process.
  SyscallTracer(pid_t process, Family family);

  /// Waits for the end of the traced processes.
  ~SyscallTracer() = default;
  SyscallTracer(const SyscallTracer&) = delete;
  SyscallTracer& operator=(const SyscallTracer&) = delete;

  /// Returns the system calls so far. One that is in progress counts one half.
  [[nodiscard]] double count() const { return static_cast<double>(stops_.load()) / 2; }

 private:
  void trace(pid_t process, Family family);

  std::atomic<int> began_{0};            // then kRunning or an error number
  std::atomic<std::uint64_t> stops_{0};  // at the begin and at the end of each system call
  std::jthread thread_;                  // the kernel reports to the thread that attached
};

}  // namespace troupe::bench
