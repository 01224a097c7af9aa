// Names of control sockets that no other process listens on.
#pragma once

#include <unistd.h>

#include <atomic>
#include <string>

#include "node/control/control_socket.h"

namespace troupe::testing {

inline ControlName fresh_control_name(const std::string& node = "ps0") {
  static std::atomic<int> count = 0;
  return {"test-" + std::to_string(getpid()) + "-" + std::to_string(++count), node};
}

}  // namespace troupe::testing
