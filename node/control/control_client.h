// The querying side of control sockets: `troupe status` and `troupe stack`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/control_socket.h"

namespace troupe {

/// One question, a line, for one process.
struct ControlQuestion {
  ControlName to;
  std::string line;  ///< "status"
};

/// The result of one question.
struct ControlAnswer {
  ControlName from;
  pid_t pid = 0;        ///< 0 if unknown
  std::string text;     ///< the answer
  std::string problem;  ///< why there is no answer; empty if there is one
  [[nodiscard]] bool ok() const { return problem.empty(); }
};

/// Asks all questions concurrently and returns the answers, in the order of the questions, after at most `patience`.
/// Processes of other users are left out. Answers are bounded and not trusted.
[[nodiscard]] std::vector<ControlAnswer> ask(const std::vector<ControlQuestion>& questions,
                                             std::chrono::milliseconds patience);

/// Returns what may keep process `pid` from answering: "its process is stopped"; empty if unknown.
[[nodiscard]] std::string obstacle_of(pid_t pid);

namespace detail {

/// As above, from the text of /proc/<pid>/stat.
[[nodiscard]] std::string obstacle_in(std::string_view stat);

}  // namespace detail

}  // namespace troupe
