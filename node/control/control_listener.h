// The answering side of a control socket, for a caller with a loop around poll(2): the launcher, or a separate thread
// (control_server.h).
//
// A question is one line, the answer is the result of `answer`, then the connection ends. Clients are not trusted to be
// fast or correct: few connections at a time, short questions, a deadline on each.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/control/control_socket.h"
#include "node/file_descriptor.h"

namespace troupe::detail {

/// Thread rule: one thread at a time. Only `answer` may block.
class ControlListener {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// Returns the answer to a question (without its end of line). Throws nothing but std::bad_alloc, which ends the
  /// question's connection without an answer.
  using Answer = std::function<std::string(std::string_view question)>;

  /// Returns the answer if it is known at once; otherwise take_answer(id, ...) brings it.
  using AnswerOrLater = std::function<std::optional<std::string>(std::string_view question, std::uint64_t id)>;

  static constexpr std::size_t kConnectionsMax = 8;                  ///< others wait to be accepted
  static constexpr int kAcceptsPerTurn = 16;                         ///< with strangers, who are disconnected
  static constexpr std::chrono::milliseconds kPause{500};            ///< when the process has no descriptors
  static constexpr std::size_t kQuestionMax = 192;                   ///< bytes; a longer question ends its connection
  static constexpr std::chrono::milliseconds kConnectionMax{2'000};  ///< a connection's time limit

  /// Throws as listen_at.
  ControlListener(const ControlName& name, AnswerOrLater answer)
      : listening_(listen_at(name)), answer_(std::move(answer)) {}
  ControlListener(const ControlName& name, Answer answer)
      : ControlListener(name, AnswerOrLater([answer = std::move(answer)](std::string_view question, std::uint64_t) {
                          return std::optional(answer(question));
                        })) {}

  /// Adds the descriptors for poll(2).
  void add_polled(std::vector<pollfd>& polled) const;

  /// Does all work that needs no waiting.
  void work(Time now);

  /// The answer to question `id` is `text`. Does nothing if its connection has ended.
  void take_answer(std::uint64_t id, std::string text);

  /// Returns when `work` is next needed without an event; nullopt: never.
  [[nodiscard]] std::optional<Time> next_due() const;

  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

  /// Ends all connections and accepts none any more: clients learn at once that nobody answers.
  void close();

 private:
  struct Connection {
    FileDescriptor socket;
    Time due;
    std::uint64_t id = 0;
    std::string question{};
    bool asked = false;                   ///< the question has arrived
    std::optional<std::string> answer{};  ///< the part not sent yet, once the question has arrived
  };
  enum class Outcome { open, over };

  void accept_some(Time now);
  Outcome read(Connection& connection);
  static Outcome write(Connection& connection);
  static short events_of(const Connection& connection);

  FileDescriptor listening_;
  AnswerOrLater answer_;
  std::uint64_t ids_ = 0;  ///< given to connections
  std::list<Connection> connections_;
  std::optional<Time> paused_until_;  ///< accepts no connection before
};

}  // namespace troupe::detail
