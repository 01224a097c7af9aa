// A thread that answers at a control socket. One of its own: it must answer also when the threads of the node are stuck,
// because that is when somebody asks.
#pragma once

#include <thread>

#include "node/control/control_listener.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Answers from its constructor to its destructor, which waits for the answer that is being made.
class ControlServer {
 public:
  /// `answer` runs on the server's thread and must not throw. Throws as listen_at.
  ControlServer(const ControlName& name, ControlListener::Answer answer);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

 private:
  void run();
  void serve();

  ControlListener listener_;  ///< the thread's
  FileDescriptor stop_;       ///< an eventfd: readable when it is to end
  std::thread thread_;
};

}  // namespace troupe::detail
