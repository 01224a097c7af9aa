// The rules of `troupe up`: which process gets which signal when one ends, when the user interrupts, and when time
// passes. No processes and no clock: events and times go in, signals to send come out.
//
//   running --(real failure of a stop_all node, or an interrupt)--> stopping --(a second interrupt)--> killing
//
// Nodes stop from the last to the first: a node gets SIGTERM once the one after it has ended, or has used its share of
// the time. A node that does not end in time gets SIGKILL.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "node/config/config.h"

namespace troupe {

using SupervisionTime = std::chrono::steady_clock::time_point;

/// How a process ended, as wait(2) reports it.
class ExitStatus {
 public:
  explicit ExitStatus(int wait_status) : wait_status_(wait_status) {}

  /// The node's host is not heard of any more: it will end there, or has.
  [[nodiscard]] static ExitStatus lost_with_host() { return ExitStatus(kLost); }
  [[nodiscard]] bool is_lost_with_host() const { return wait_status_ == kLost; }

  [[nodiscard]] bool ok() const { return wait_status_ == 0; }
  [[nodiscard]] bool by_signal() const;
  [[nodiscard]] int wait_status() const { return wait_status_; }
  /// Returns the status that a shell would report: the process's own, or 128 + the signal's number; 1 for a lost host.
  [[nodiscard]] int shell_status() const;
  /// Returns "exit status 3", "killed by signal 9 (SIGKILL)" or "lost with its host".
  [[nodiscard]] std::string text() const;

 private:
  static constexpr int kLost = -1;  // no wait status: those have 16 bits
  int wait_status_;
};

/// Whether a node had ended before its host knew that nodes are told to stop: no order to stop has reached it then,
/// even if one was sent.
enum class BeforeStop { no, yes };

/// An order to send `signal` to `node`.
struct SignalOrder {
  std::size_t node;
  int signal;
  friend bool operator==(const SignalOrder&, const SignalOrder&) = default;
};
using SignalOrders = std::vector<SignalOrder>;

/// One run of a cluster; nodes are numbered in the order of their start.
class Supervision {
 public:
  struct Failure {
    std::size_t node;
    ExitStatus status;
  };

  /// `stop_timeout`: the time limit of a node from its SIGTERM to its end.
  Supervision(std::vector<OnExit> nodes, std::chrono::milliseconds stop_timeout);

  /// `node` has ended. A failure counts unless the node had been told to stop. One by a signal that comes from before
  /// the stop takes the place of the exit status for which nodes stop: as of several at once, that follows from it.
  [[nodiscard]] SignalOrders on_exit(std::size_t node, ExitStatus status, SupervisionTime now,
                                     BeforeStop before_stop = BeforeStop::no);

  /// The user interrupts: the first time all nodes are stopped, the second time killed.
  [[nodiscard]] SignalOrders on_interrupt(int signal, SupervisionTime now);

  /// Time has passed.
  [[nodiscard]] SignalOrders on_time(SupervisionTime now);

  /// Returns when on_time is next needed; nullopt if only events can change anything.
  [[nodiscard]] std::optional<SupervisionTime> next_time() const;

  [[nodiscard]] bool finished() const { return running_ == 0; }
  [[nodiscard]] bool stopping() const { return stopping_; }
  [[nodiscard]] std::size_t running() const { return running_; }
  /// Returns whether `node` was sent SIGTERM or SIGKILL.
  [[nodiscard]] bool was_told(std::size_t node) const { return nodes_[node].told_at.has_value(); }
  [[nodiscard]] const std::optional<Failure>& first_failure() const { return first_failure_; }
  [[nodiscard]] std::optional<int> interrupt() const { return interrupt_; }

  /// Returns the status of the whole run: that of the first failure, otherwise 128 + the interrupt's signal, otherwise
  /// 0.
  [[nodiscard]] int status() const;

 private:
  struct Node {
    OnExit on_exit;
    bool running = true;
    bool killed = false;
    std::optional<SupervisionTime> told_at;
  };

  void count_failure(std::size_t node, ExitStatus status, BeforeStop before_stop);
  void begin_to_stop();
  SignalOrders kill_all(SupervisionTime now);
  /// Returns the last running node that was not told to stop yet.
  std::optional<std::size_t> next_to_tell() const;
  /// Returns when the next node is told to stop although earlier ones still run; nullopt if none of those runs.
  std::optional<SupervisionTime> patience_ends() const;

  std::vector<Node> nodes_;
  std::chrono::milliseconds stop_timeout_;
  std::chrono::nanoseconds share_{0};
  std::size_t running_;
  bool stopping_ = false;
  std::optional<Failure> first_failure_;
  std::optional<std::size_t> stopped_by_;  ///< the node for whose failure nodes stop
  std::optional<int> interrupt_;
};

}  // namespace troupe
