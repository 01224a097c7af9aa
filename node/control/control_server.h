// A thread that answers at a control socket. A separate one: it must answer even when the node's threads are stuck,
// because that is when users ask.
#pragma once

#include <thread>

#include "node/control/control_listener.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Answers from its constructor to its destructor, which waits for an answer in progress.
class ControlServer {
 public:
  /// `answer` runs on the server's thread. Throws as listen_at.
  ControlServer(const ControlName& name, ControlListener::Answer answer);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  void run();
  void serve();

  ControlListener listener_;  ///< used by the thread only
  FileDescriptor stop_;       ///< an eventfd: readable when the thread must end
  std::thread thread_;
};

}  // namespace troupe::detail
