// Networks of the test's own: slow, cut, or of two machines. What is done to them harms nothing else, and they are gone
// with the last process and descriptor that uses them, however the test ends.
#pragma once

#include <cstdint>
#include <string>

#include "node/file_descriptor.h"

namespace troupe::testing {

/// A network namespace of the kernel, with its own loopback, which is up.
class NetworkNamespace {
 public:
  /// Throws std::runtime_error where the process may not.
  NetworkNamespace();

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// Runs a command of the shell there and returns what it printed. Throws std::runtime_error with that if it fails.
  std::string run(const std::string& command) const;

  /// What leaves through `device` ("lo", or one that join_by_wire made) is held back to so many Mbit/s, with a queue of
  /// 2 MB before packets are lost.
  void limit_rate(const std::string& device, std::uint32_t mbit_per_second) const;

  /// Packets from other machines are lost until `mend`; what leaves still leaves. Not for a cut of the loopback.
  void cut_incoming() const;
  void mend() const;

  /// While it is there, threads and processes that this thread starts are in the namespace, and so is this thread.
  class Inside {
   public:
    explicit Inside(const NetworkNamespace& place);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    detail::FileDescriptor before_;
  };

 private:
  detail::FileDescriptor descriptor_;
};

/// Puts a wire between two machines: 10.77.0.1 and fd77::1 on `one`, 10.77.0.2 and fd77::2 on `other`, device "wire" on
/// both.
void join_by_wire(const NetworkNamespace& one, const NetworkNamespace& other);

}  // namespace troupe::testing
