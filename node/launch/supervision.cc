#include "node/launch/supervision.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

namespace troupe {

bool ExitStatus::by_signal() const { return wait_status_ != kLost && WIFSIGNALED(wait_status_); }

int ExitStatus::shell_status() const {
  if (wait_status_ == kLost) return 1;
  return by_signal() ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

std::string ExitStatus::text() const {
  if (wait_status_ == kLost) return "lost with its host";
  if (!by_signal()) return fmt::format("exit status {}", WEXITSTATUS(wait_status_));
  const int signal = WTERMSIG(wait_status_);
  const char* name = sigabbrev_np(signal);
  if (name == nullptr) return fmt::format("killed by signal {}", signal);
  // The signal of seccomp, and of nothing else.
  return fmt::format("killed by signal {} (SIG{}{})", signal, name,
                     signal == SIGSYS ? ": it did what it may not, see node.confined" : "");
}

Supervision::Supervision(std::vector<OnExit> nodes, std::chrono::milliseconds stop_timeout)
    : stop_timeout_(stop_timeout), running_(nodes.size()) {
  for (const OnExit on_exit : nodes) nodes_.push_back({.on_exit = on_exit, .told_at = {}});
}

SignalOrders Supervision::on_exit(std::size_t node, ExitStatus status, SupervisionTime now, BeforeStop before_stop) {
  Node& ended = nodes_[node];
  if (!ended.running) return {};
  ended.running = false;
  --running_;
  if (before_stop == BeforeStop::yes) ended.told_at.reset();
  if (!status.ok() && !ended.told_at) count_failure(node, status, before_stop);
  return on_time(now);
}

void Supervision::count_failure(std::size_t node, ExitStatus status, BeforeStop before_stop) {
  const bool came_first = stopping_ && before_stop == BeforeStop::yes;
  const bool is_cause = came_first && status.by_signal() && stopped_by_ && first_failure_->node == *stopped_by_ &&
                        !first_failure_->status.by_signal() && !first_failure_->status.is_lost_with_host();
  const bool is_first = !first_failure_ && (!interrupt_ || came_first);
  if (is_cause || is_first) first_failure_ = Failure{node, status};
  if (nodes_[node].on_exit != OnExit::stop_all || stopping_) return;
  stopped_by_ = node;
  begin_to_stop();
}

SignalOrders Supervision::on_interrupt(int signal, SupervisionTime now) {
  if (interrupt_) return kill_all(now);
  interrupt_ = signal;
  begin_to_stop();
  return on_time(now);
}

SignalOrders Supervision::on_time(SupervisionTime now) {
  SignalOrders orders;
  if (!stopping_) return orders;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (!node.running || node.killed || !node.told_at || now < *node.told_at + stop_timeout_) continue;
    node.killed = true;
    orders.push_back({i, SIGKILL});
  }
  while (const auto next = next_to_tell()) {
    const auto patience = patience_ends();
    if (patience && now < *patience) break;
    nodes_[*next].told_at = now;
    orders.push_back({*next, SIGTERM});
  }
  return orders;
}

std::optional<SupervisionTime> Supervision::next_time() const {
  std::optional<SupervisionTime> result;
  const auto include = [&](SupervisionTime time) { result = result ? std::min(*result, time) : time; };
  for (const Node& node : nodes_) {
    if (node.running && node.told_at && !node.killed) include(*node.told_at + stop_timeout_);
  }
  if (const auto patience = patience_ends(); patience && stopping_ && next_to_tell()) include(*patience);
  return result;
}

int Supervision::status() const {
  if (first_failure_) return first_failure_->status.shell_status();
  return interrupt_ ? 128 + *interrupt_ : 0;
}

void Supervision::begin_to_stop() {
  if (stopping_) return;
  stopping_ = true;
  share_ = std::chrono::nanoseconds(stop_timeout_) / std::max<std::size_t>(running_, 1);
}

SignalOrders Supervision::kill_all(SupervisionTime now) {
  SignalOrders orders;
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (!node.running || node.killed) continue;
    node.killed = true;
    if (!node.told_at) node.told_at = now;
    orders.push_back({i, SIGKILL});
  }
  return orders;
}

std::optional<std::size_t> Supervision::next_to_tell() const {
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (nodes_[i].running && !nodes_[i].told_at) return i;
  }
  return std::nullopt;
}

std::optional<SupervisionTime> Supervision::patience_ends() const {
  std::optional<SupervisionTime> last;
  for (const Node& node : nodes_) {
    if (node.running && node.told_at) last = last ? std::max(*last, *node.told_at) : *node.told_at;
  }
  if (last) *last += share_;
  return last;
}

}  // namespace troupe
