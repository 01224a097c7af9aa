// The answering side of a control socket, for whoever has a loop around poll(2): the launcher, or a thread of its own
// (control_server.h).
//
// A question is one line, an answer is what `answer` returns for it, then the connection ends. Whoever connects is not
// trusted to be quick or sensible: few connections at a time, short questions, a deadline on each.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/control_socket.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// One thread at a time. Nothing blocks but `answer`.
class ControlListener {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// The answer to a question (without its end of line).
  using Answer = std::function<std::string(std::string_view question)>;

  static constexpr std::size_t kConnectionsMax = 8;                  ///< the rest waits to be accepted
  static constexpr int kAcceptsPerTurn = 16;                         ///< strangers, who are sent away at once, among them
  static constexpr std::chrono::milliseconds kPause{500};            ///< when the process has no descriptors left
  static constexpr std::size_t kQuestionMax = 64;                    ///< bytes; a longer one ends its connection
  static constexpr std::chrono::milliseconds kConnectionMax{2'000};  ///< then it is closed, wherever it stands

  /// Throws as listen_at.
  ControlListener(const ControlName& name, Answer answer) : listening_(listen_at(name)), answer_(std::move(answer)) {}

  /// Adds what poll(2) is to wait for.
  void add_polled(std::vector<pollfd>& polled) const;

  /// Does everything that can be done without waiting.
  void work(Time now);

  /// When `work` has something to do even if nothing happens.
  [[nodiscard]] std::optional<Time> next_due() const;

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  struct Connection {
    FileDescriptor socket;
    Time due;
    std::string question{};
    std::optional<std::string> answer{};  ///< what is still to be sent, once the question is there
  };
  enum class Outcome { open, over };

  void accept_some(Time now);
  Outcome read(Connection& connection);
  static Outcome write(Connection& connection);

  FileDescriptor listening_;
  Answer answer_;
  std::list<Connection> connections_;
  std::optional<Time> paused_until_;  ///< accepts nobody before
};

}  // namespace troupe::detail
