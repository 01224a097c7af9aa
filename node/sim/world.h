// Several nodes in one process, with virtual time and faults, all decided by a seed: a program's own functions under
// crashes and bad networks, in its own unit tests, in milliseconds.
//
//   sim::World world({.seed = 7, .link = {.drop = 0.1, .duplicate = 0.1}}, {"trainer", "ps0"}, functions);
//   Future<double> loss = world.on("trainer", [](Node& node) { return train(node); });
//   world.kill_after(1000, "ps0");
//   BOOST_CHECK_THROW(loss.get(), RemoteError);
//
// The actors, sessions, references and contexts are those of production; clock, links, executor and the order of actors
// are the world's. Functions run one at a time on threads that pass a baton, so they may block in get() and the same
// seed still gives the same run, step for step.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "actors/core/node_core.h"
#include "actors/core/promise_guard.h"
#include "actors/deadline.h"
#include "actors/executor.h"
#include "actors/function_registry.h"
#include "actors/future.h"
#include "actors/sessions/failure_detector.h"
#include "node/node.h"
#include "node/sim/faults.h"
#include "node/sim/node_killed.h"

namespace troupe::sim {

struct WorldOptions {
  std::uint64_t seed = 1;
  LinkFaults link{};
  FailureDetectorOptions silence{};                          ///< of every node
  Duration step_max = std::chrono::microseconds(2);          ///< the most virtual time of one step; at least 1 ns
  Duration wait_max = std::chrono::minutes(10);              ///< virtual time after which get() without a limit fails
  std::size_t pool_threads_max = PoolOptions{}.threads_max;  ///< of every node
  Duration report_after = std::chrono::seconds(30);          ///< real time; see World. At least 1 ns
};

/// Belongs to the thread that made it. While that thread waits (get, shutdown, ...) the world continues. REQUIRES: made
/// outside of functions. Functions and `on` bodies may use everything of a Node, but no threads of their own: one that
/// uses a node or waits for a future ends the process. A function that waits for another one by other means than the
/// runtime's (a lock that the other holds over a wait, a loop over ready(), a sleep) stops the world: standard error
/// names a function that has not waited for `report_after`. While a world lives, its trace receives what its threads
/// log; other threads log as before. Of several worlds that one thread made, the newest that lives receives that
/// thread's log, and continues while it waits. Every member that takes a node's name throws std::out_of_range if there
/// never was a node of that name.
class World {
 public:
  /// Returns when all nodes are up with each other. Throws std::invalid_argument if a name is malformed or given twice.
  World(WorldOptions options, const std::vector<NodeName>& names, const FunctionRegistry& functions);

  /// Kills the living nodes. The caller's futures and references may outlive the world.
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// Returns a node, also a killed one, on which everything fails.
  [[nodiscard]] Node& node(std::string_view name);
  [[nodiscard]] bool is_alive(std::string_view name) const;

  /// Starts `body(Node&)` as the program of a node. The future gets its result, the error for its exception, or
  /// peer_down if the node is killed first.
  template <class Body>
  auto on(std::string_view name, Body body) -> Future<std::invoke_result_t<Body&, Node&>> {
    using R = std::invoke_result_t<Body&, Node&>;
    auto ending = std::make_shared<detail::PromiseGuard<R>>(Promise<R>(node(name).core().future_home()), killed(name));
    Future<R> future = ending->future();
    begin(name, [this, ending = std::move(ending), body = std::move(body)](Node& self) mutable {
      try {
        if constexpr (std::is_void_v<R>) {
          body(self);
          require_alive(self);
          ending->complete(Unit{});
        } else {
          R result = body(self);
          require_alive(self);
          ending->complete(std::move(result));
        }
      } catch (const NodeKilled&) {
        throw;
      } catch (const RemoteError& error) {
        ending->complete(error.error());
      } catch (...) {
        ending->complete(
            detail::error_of_current_exception(self.name(), "on", self.core().functions().exceptions().get()));
      }
    });
    return future;
  }

  /// Runs until no living node has a running or waiting function, or a pending request; at most for `limit`. Returns
  /// whether that state was reached. This and the next two throw std::logic_error in a function: a function waits on
  /// futures, and the world runs meanwhile.
  bool run(Deadline limit = std::chrono::seconds(60));

  /// Runs for `duration`; without an end if that is no limit.
  void run_for(Deadline duration);

  /// Runs until `condition`, checked between any two steps, holds, at most for `limit`. Returns whether it holds.
  bool step_until(const std::function<bool()>& condition, Deadline limit = std::chrono::seconds(60));

  /// Ends a node as a crash would: its actors, timers and functions are gone; messages in transit may arrive. Called
  /// within a function, it takes effect after the present step. No effect on a dead node.
  void kill(std::string_view name, Death death = Death::closed);

  /// Kills after `steps` more steps of the world.
  void kill_after(std::uint64_t steps, std::string_view name, Death death = Death::closed);

  /// Stops a node as SIGSTOP would, until `thaw`: nothing of it runs, messages to it wait.
  void freeze(std::string_view name);
  void thaw(std::string_view name);

  /// Nothing that `from` sends reaches `to` until `heal`. One way: for a partition cut both.
  void cut(std::string_view from, std::string_view to);
  void heal(std::string_view from, std::string_view to);

  /// Returns a random choice for the test itself, one of 0 to `count` - 1. Throws std::invalid_argument if `count` is
  /// 0.
  [[nodiscard]] std::uint64_t draw(std::uint64_t count);

  /// Returns the virtual time since the world started.
  [[nodiscard]] Duration now() const;

  [[nodiscard]] WorldCounts counts() const;

  /// Returns the hash of every decision so far: equal for equal seeds, options and programs.
  [[nodiscard]] std::uint64_t trace_hash() const;

  /// The last decisions and log lines, one per line.
  [[nodiscard]] std::string trace_text(std::size_t lines = 200) const;

 private:
  [[nodiscard]] Error killed(std::string_view name);
  /// Throws NodeKilled if the node has been killed.
  void require_alive(const Node& node) const;
  void begin(std::string_view name, std::function<void(Node&)> body);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe::sim
