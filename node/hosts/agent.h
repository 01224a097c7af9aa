// `troupe agent`: runs the nodes of one host for `troupe up` on another, which talks to it through ssh.
#pragma once

#include <string>

#include "node/config/settings.h"

namespace troupe {

struct AgentOptions {
  int input;            ///< brings the launcher's orders
  int output;           ///< takes reports
  std::string version;  ///< of this program
  Variables variables;  ///< inherited by nodes
};

/// Obeys the launcher (agent_messages.h) until the input ends, the launcher is silent for the cluster's lease, or a
/// signal asks for its end. Returns the exit status of the process: 0 after the end of the input, 1 otherwise, with a
/// line on standard error. No node outlives the call, nor this process, however it ends.
/// REQUIRES: called on the main thread of a process without other threads; it takes SIGINT, SIGTERM, SIGHUP, SIGCHLD
/// and SIGPIPE for its duration.
[[nodiscard]] int run_agent(const AgentOptions& options);

}  // namespace troupe
