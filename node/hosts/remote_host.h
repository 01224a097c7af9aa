// Another machine, where an agent runs the nodes: the launcher's side of agent_messages.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/file_descriptor.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/host_plan.h"
#include "node/hosts/pipe_writer.h"
#include "node/launch/child_process.h"
#include "node/launch/host_run.h"
#include "node/launch/log_view.h"

namespace troupe::detail {

/// Connected once. Its state changes in connect(), work() and child_ended(). A host that fails is `over`: it has
/// complained, and its nodes, if they ran, are lost.
class RemoteHost : public HostRun {
 public:
  enum class State {
    idle,        ///< connect() was not called
    connecting,  ///< no agent has answered
    welcomed,
    preparing,
    prepared,
    starting,
    running,
    over,
  };

  struct Options {
    HostPlan plan;
    Variables variables;                             ///< of the process that runs the agent, ssh
    std::chrono::milliseconds lease{};               ///< the host is given up after so long a silence; 0: never
    std::chrono::milliseconds connect_max{};         ///< until the agent must have answered
    std::string version;                             ///< of this program: the agent's must be the same
    std::function<void(std::string_view)> say;       ///< receives lines that are not a node's: ssh's
    std::function<void(std::string_view)> complain;  ///< receives the reasons for which the host is over, a line each
    std::function<bool(const AgentFrame&)> take{};   ///< receives frames first; returns whether that is all
  };

  /// REQUIRES: `guard` outlives it.
  RemoteHost(Options options, const ProcessGuard& guard, HostEvents events);

  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const HostPlan& plan() const { return options_.plan; }

  /// Returns "; it looks up NAME", for a report of silence: what the agent has said that it is at. Empty: nothing.
  [[nodiscard]] std::string being_at() const;

  /// Runs the agent, by ssh for example.
  void connect(Time now);

  /// Sends what to prepare. REQUIRES: welcomed.
  void prepare(Time now);

  /// Returns the first node's address, "tcp://HOST:PORT", if it is on this host. REQUIRES: prepared.
  [[nodiscard]] const std::string& seed() const { return seed_; }

  /// Starts the nodes, and forgets their keys. REQUIRES: prepared.
  void start(std::string_view seed, std::span<const std::byte> secret, Time now);

  /// Sends an order of `troupe doctor`. REQUIRES: welcomed.
  void order(AgentFrameKind kind, std::string_view body) { send(kind, body); }

  /// Ends the agent by the end of its input. It still must be polled until it is over.
  void close();

  /// Waits for its nodes no longer, and ends the agent. REQUIRES: it is not called from an event.
  void give_up();

  /// Its agent is always read: nodes' ends and signs of life wait for nobody.
  void add_polled(std::vector<pollfd>& polled, Reading reading) override;
  void work(std::span<const pollfd> polled, Time now) override;
  void child_ended() override;
  [[nodiscard]] bool has(pid_t pid) const override { return agent_ && agent_->is(pid); }
  [[nodiscard]] std::optional<Time> next_due() const override;
  void say_that_nodes_stop() override;
  void send(std::size_t rank, int signal) override;
  [[nodiscard]] bool ask(std::size_t rank, std::string_view question, std::uint64_t id) override;
  [[nodiscard]] pid_t pid(std::size_t rank) const override;

 private:
  [[nodiscard]] std::chrono::milliseconds pings_apart() const;
  [[nodiscard]] std::chrono::milliseconds silence_max() const;
  void send(AgentFrameKind kind, std::string_view body);
  void read(Output stream, Time now);
  void take(std::string_view bytes, Time now);
  void obey(const AgentFrame& frame);
  void welcome(std::string_view body);
  void take_prepared(std::string_view body);
  void take_started(std::string_view body);
  void take_exit(std::string_view body);
  void take_end(std::string_view body);
  void take_answer(std::string_view body);
  void copy_some();
  void show_lines(Output stream, std::string_view bytes);
  void fail(const std::vector<std::string>& problems);
  [[nodiscard]] std::size_t local(std::size_t rank) const;
  [[nodiscard]] std::size_t rank_of(std::uint32_t node) const;

  Options options_;
  const ProcessGuard& guard_;
  HostEvents events_;
  State state_ = State::idle;
  std::unique_ptr<ChildProcess> agent_;
  AgentGreetingReader greeting_;
  AgentFrameReader frames_;
  PipeWriter out_;
  bool greeted_ = false;
  bool closing_ = false;
  Reading told_ = Reading::on;             ///< the agent, last
  std::array<int, 2> polled_{-1, -1};      ///< the agent's outputs in the last add_polled, by position; -1: not there
  std::array<std::string, 2> unfinished_;  ///< lines that are not a node's, by stream
  std::string last_line_;
  std::string at_;  ///< of the last pong
  Time heard_{};    ///< the agent, last
  Time pinged_{};   ///< when the last ping was sent
  Time due_{};      ///< of the welcome
  std::string seed_;
  std::vector<int> pids_;
  std::vector<bool> running_;     ///< of each node of the plan
  std::vector<bool> incomplete_;  ///< of each node: it was started, and its output may still come
  struct Copying {
    std::vector<std::size_t> programs;  ///< that the host lacks, the next first
    FileDescriptor file;
  } copying_;
};

}  // namespace troupe::detail
