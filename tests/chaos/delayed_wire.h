// A long wire: every frame takes its time, whatever it carries.
#pragma once

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <thread>

#include "node/file_descriptor.h"
#include "tests/chaos/network_namespace.h"

namespace troupe::testing {

/// Network devices whose other end is a program: needs /dev/net/tun.
struct NeedsDelayedWire {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id unit) const;
};

/// Replaces the wire of a machine that join_by_switch has joined. Frames are delivered in their order, each `delay`
/// after it was sent, either way. The wire is cut when this ends.
class DelayedWire {
 public:
  /// The machine is number `number` of the switch, from 1.
  DelayedWire(const NetworkNamespace& hub, const NetworkNamespace& machine, std::size_t number,
              std::chrono::milliseconds delay);
  ~DelayedWire();
  DelayedWire(const DelayedWire&) = delete;
  DelayedWire& operator=(const DelayedWire&) = delete;

 private:
  detail::FileDescriptor hub_end_;
  detail::FileDescriptor machine_end_;
  detail::FileDescriptor stop_;
  std::thread carrier_;
};

}  // namespace troupe::testing
