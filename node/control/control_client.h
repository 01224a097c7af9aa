// The querying side of control sockets: `troupe status` and `troupe stack`.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/control/control_socket.h"
#include "node/file_descriptor.h"

namespace troupe {

/// One question, a line, for one process.
struct ControlQuestion {
  ControlName to;
  std::string line;    ///< "status"
  std::string host{};  ///< of the node that the process asks; empty: it answers for itself
};

/// The result of one question.
struct ControlAnswer {
  ControlName from;
  pid_t pid = 0;                            ///< 0 if unknown
  std::string text;                         ///< the answer
  std::string problem;                      ///< why there is no answer; empty if there is one
  uid_t user = detail::ControlPeer{}.user;  ///< of that process, as the kernel reports it; -1 if unknown
  [[nodiscard]] bool ok() const { return problem.empty(); }
};

/// One question under way, for a caller with a loop around poll(2).
class OpenQuestion {
 public:
  static constexpr std::size_t kAnswerMax = 8'000'000;  ///< bytes; a longer answer is a problem

  /// The problem of a node that has ended, or is none yet.
  static constexpr const char* kNobody = "no process answers there any more";

  /// The problem of a process that has taken none of the last questions. Its pid and user are unknown.
  static constexpr const char* kFull = "no answer: it has not taken the questions before this one";

  /// Sends the question, without blocking; nullopt for a process of another user.
  [[nodiscard]] static std::optional<OpenQuestion> begin(const ControlQuestion& question);

  /// Returns whether the answer, or the reason why there is none, is complete.
  [[nodiscard]] bool is_over() const { return over_; }

  /// Returns the descriptor to wait for. REQUIRES: not over.
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Reads what is there of the answer. REQUIRES: not over.
  void read_some();

  /// `patience` has passed: the question is over without an answer, unless it is over already.
  void give_up(std::chrono::milliseconds patience);

  /// REQUIRES: over, and called once.
  [[nodiscard]] ControlAnswer take_answer() { return std::move(answer_); }

 private:
  void end(std::string problem);

  ControlAnswer answer_;
  detail::FileDescriptor socket_;
  bool over_ = false;
};

/// Asks all questions concurrently, of one process as many as it takes at once, and returns the answers, in the order
/// of the questions, after at most `patience`. Hosts behind one process share its connections: the one with the fewest
/// comes next, so that silent hosts, if they are fewer than ControlListener::kConnectionsMax, do not hide the others.
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
