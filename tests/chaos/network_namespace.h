// Networks that belong to a test: slow, cut, or of two machines. Faults in them affect nothing else. They vanish with
// the last process and descriptor that uses them, however the test ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "node/file_descriptor.h"

namespace troupe::testing {

/// A network namespace of the kernel, with a loopback device of its own that is up.
class NetworkNamespace {
 public:
  /// Throws std::runtime_error if the process lacks the privilege.
  NetworkNamespace();

  [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  /// Runs a shell command in the namespace and returns its output. Throws std::runtime_error with the output if it
  /// fails.
  std::string run(const std::string& command) const;

  /// Limits the rate of packets that leave through `device` ("lo", or one that join_by_wire made). Its queue holds 2 MB
  /// before packets are lost.
  void limit_rate(const std::string& device, std::uint32_t mbit_per_second) const;

  /// Sets the largest packet of `device`, in bytes.
  void limit_packets(const std::string& device, std::uint32_t bytes) const;

  /// Returns how many bytes have left through `device`.
  [[nodiscard]] std::uint64_t bytes_sent(const std::string& device) const;

  /// Drops packets from other machines until `mend`; outgoing packets still leave. Does not apply to the loopback
  /// device.
  void cut_incoming() const;
  void mend() const;

  /// While it lives, this thread is in the namespace, and so are threads and processes that this thread starts.
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

/// Joins two machines by a wire: 10.77.0.1 and fd77::1 on `one`, 10.77.0.2 and fd77::2 on `other`, device "wire" on
/// both.
void join_by_wire(const NetworkNamespace& one, const NetworkNamespace& other);

/// Joins machines by a switch, which is a namespace of its own: 10.77.0.1, 10.77.0.2, ... and fd77::1, fd77::2, ... in
/// the order of `machines`, device "wire" on each; "port1", "port2", ... are the switch's ends.
void join_by_switch(const NetworkNamespace& hub, std::span<const NetworkNamespace> machines);

/// Gives device "wire" of a machine the addresses of that number.
void bring_up_wire(const NetworkNamespace& machine, std::size_t number);

}  // namespace troupe::testing
