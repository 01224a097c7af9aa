// The nodes of one host, as the launcher sees them: children of its own, or those of an agent on another machine.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/launch/local_nodes.h"
#include "node/launch/log_backlog.h"

namespace troupe::detail {

/// Whether the output of a node has come to its end, or was cut off: its host was lost before.
enum class OutputEnd { whole, cut_off };

/// What hosts tell the launcher. Nodes are ranks.
struct HostEvents {
  TakeOutput output;
  /// Output of a node was dropped on its host; it stood before what `output` brings next of this stream.
  std::function<void(const LogLoss& loss)> lost;
  /// These nodes have ended. Their output may still come.
  std::function<void(const std::vector<NodeEnd>& ends)> ended;
  /// All output of this node has come that will.
  std::function<void(std::size_t node, OutputEnd end)> complete;
  /// The answer to question `id`, or JSON with the reason why there is none.
  std::function<void(std::uint64_t id, std::string text)> answered;
};

/// Thread rule: the launcher's thread. A host calls its events from work() and child_ended() only.
class HostRun {
 public:
  using Time = std::chrono::steady_clock::time_point;
  enum class Reading { on, off };  ///< off: nodes that print wait

  virtual ~HostRun() = default;

  /// Adds descriptors for poll(2).
  virtual void add_polled(std::vector<pollfd>& polled, Reading reading) = 0;

  /// Does all work that needs no waiting. `polled`: what the last add_polled added.
  virtual void work(std::span<const pollfd> polled, Time now) = 0;

  /// A child of this process has ended, maybe one of this host's.
  virtual void child_ended() = 0;

  /// Returns whether process `pid`, a child of this process that was not reaped, is one of this host's.
  [[nodiscard]] virtual bool has(pid_t pid) const = 0;

  /// Returns when work() is next needed without an event; nullopt: never.
  [[nodiscard]] virtual std::optional<Time> next_due() const = 0;

  /// Nodes are told to stop from now on, because one has failed or the user interrupts.
  virtual void say_that_nodes_stop() = 0;

  /// Sends `signal` to node `rank`, which is on this host: once it runs, if it is being started. Does nothing once it
  /// has ended.
  virtual void send(std::size_t rank, int signal) = 0;

  /// Asks the control socket of node `rank`; the answer comes as event `answered` with this `id`. Returns false if
  /// none will: a node of this machine is asked without its launcher.
  [[nodiscard]] virtual bool ask(std::size_t rank, std::string_view question, std::uint64_t id) = 0;

  /// Returns the number of its process on its host.
  [[nodiscard]] virtual pid_t pid(std::size_t rank) const = 0;
};

/// This machine.
class LocalHost : public HostRun {
 public:
  /// REQUIRES: `guard` outlives it. It runs all nodes of the cluster, in order of rank.
  LocalHost(const ProcessGuard& guard, HostEvents events) : events_(std::move(events)), nodes_(guard) {}

  [[nodiscard]] LocalNodes& nodes() { return nodes_; }

  void add_polled(std::vector<pollfd>& polled, Reading reading) override {
    if (reading == Reading::on) nodes_.add_polled(polled);
  }
  void work(std::span<const pollfd> polled, Time /*now*/) override { nodes_.read(polled, events_.output); }
  void child_ended() override {
    const std::vector<NodeEnd> ends = nodes_.take_ends(events_.output);
    for (const NodeEnd& end : ends) events_.complete(end.node, OutputEnd::whole);
    if (!ends.empty()) events_.ended(ends);
  }
  [[nodiscard]] bool has(pid_t pid) const override { return nodes_.has(pid); }
  [[nodiscard]] std::optional<Time> next_due() const override { return std::nullopt; }
  void say_that_nodes_stop() override {}
  void send(std::size_t rank, int signal) override { nodes_.send(rank, signal); }
  [[nodiscard]] bool ask(std::size_t, std::string_view, std::uint64_t) override { return false; }
  [[nodiscard]] pid_t pid(std::size_t rank) const override { return nodes_.pid(rank); }

 private:
  HostEvents events_;
  LocalNodes nodes_;
};

}  // namespace troupe::detail
