// The nodes that run as children of this process: the launcher's, or those of the agent of a host.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "node/launch/child_process.h"
#include "node/launch/log_view.h"
#include "node/launch/process_guard.h"
#include "node/launch/supervision.h"

namespace troupe::detail {

/// The end of a node.
struct NodeEnd {
  std::size_t node;
  ExitStatus status;
  BeforeStop before_stop = BeforeStop::no;
};

/// Receives output that a node has printed.
using TakeOutput = std::function<void(std::size_t node, Output stream, std::string_view bytes)>;

/// Nodes have the numbers 0, 1, ... in the order of their start. Thread rule: one thread, see ChildProcess.
class LocalNodes {
 public:
  /// REQUIRES: `guard` outlives it.
  explicit LocalNodes(const ProcessGuard& guard) : guard_(guard) {}

  /// Starts the next node. Throws SpawnError.
  void start(const ChildSpec& spec, std::span<const std::byte> secret) {
    nodes_.push_back(std::make_unique<ChildProcess>(spec, secret, guard_));
  }

  /// Kills all nodes that still run, from the last to the first.
  void kill_all() {
    while (!nodes_.empty()) nodes_.pop_back();
  }

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] pid_t pid(std::size_t node) const { return nodes_[node]->pid(); }

  /// Sends `signal` to the group of `node`, if it still runs.
  void send(std::size_t node, int signal) const { nodes_[node]->send(signal); }

  /// Returns whether process `pid`, a child of this process that was not reaped, is a node.
  [[nodiscard]] bool has(pid_t pid) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [pid](const auto& node) { return node->is(pid); });
  }

  /// Adds the descriptors of all output for poll(2).
  void add_polled(std::vector<pollfd>& polled);

  /// Reads output, up to one buffer of each that is ready in `polled`: what the last add_polled added.
  void read(std::span<const pollfd> polled, const TakeOutput& take);

  /// Returns the nodes that have ended since the last call, those killed by a signal first: of simultaneous ends, they
  /// are the cause, and one that exits is the consequence. Their remaining output goes to `take` before that, at most
  /// 4 MiB of each stream. Call it after SIGCHLD.
  [[nodiscard]] std::vector<NodeEnd> take_ends(const TakeOutput& take);

 private:
  std::size_t read(std::size_t node, Output stream, const TakeOutput& take);

  const ProcessGuard& guard_;
  std::vector<std::unique_ptr<ChildProcess>> nodes_;
  std::vector<std::pair<std::size_t, Output>> polled_;  ///< what add_polled added, in this order
  std::array<char, 64 * 1024> buffer_{};
};

}  // namespace troupe::detail
