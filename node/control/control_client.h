// The asking side of control sockets: `troupe status` and `troupe stack`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/control_socket.h"

namespace troupe {

/// One line for one process.
struct ControlQuestion {
  ControlName to;
  std::string line;  ///< "status"
};

/// What came of one question.
struct ControlAnswer {
  ControlName from;
  pid_t pid = 0;         ///< 0 if it is not known
  std::string text;      ///< the answer
  std::string problem;   ///< why there is none; empty if there is one
  [[nodiscard]] bool ok() const { return problem.empty(); }
};

/// Asks all at once and returns what they said, in the order of the questions, after `patience` at the latest. Processes
/// of other users are left out. What comes is bounded, and not trusted.
[[nodiscard]] std::vector<ControlAnswer> ask(const std::vector<ControlQuestion>& questions, std::chrono::milliseconds patience);

/// What may keep process `pid` from answering: "its process is stopped"; empty if nothing is known.
[[nodiscard]] std::string obstacle_of(pid_t pid);

namespace detail {

/// The same out of what /proc/<pid>/stat holds.
[[nodiscard]] std::string obstacle_in(std::string_view stat);

}  // namespace detail

}  // namespace troupe
