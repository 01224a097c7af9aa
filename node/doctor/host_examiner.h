// The agent's side of doctor_messages.h: answers what `troupe doctor` asks about its host.
#pragma once

#include <poll.h>

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "node/config/settings.h"
#include "node/doctor/reach_attempts.h"
#include "node/doctor/reach_listener.h"
#include "node/hosts/agent_frames.h"
#include "node/hosts/host_address.h"

namespace troupe::detail {

/// One thread at a time. Its sockets are closed when it ends.
class HostExaminer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Send = std::function<void(AgentFrameKind kind, std::string_view body)>;

  /// `variables`: of the agent. REQUIRES: they outlive it. `send` takes the answers.
  HostExaminer(const Variables& variables, Send send, NameLookup look_up = {})
      : variables_(variables), send_(std::move(send)), look_up_(std::move(look_up)) {}

  /// Returns whether obey() knows orders of this kind.
  [[nodiscard]] static bool knows(AgentFrameKind kind);

  /// Answers at once, but for `reach`, whose answer work() sends. A second `listen` ends the first listener. Throws
  /// AgentProtocolError. REQUIRES: knows(order.kind).
  void obey(const AgentFrame& order);

  /// Adds descriptors for poll(2).
  void add_polled(std::vector<pollfd>& polled);

  /// Does all work that needs no waiting. `polled`: what the last add_polled added.
  void work(std::span<const pollfd> polled);

  /// Returns when work() is next needed without an event; nullopt: never.
  [[nodiscard]] std::optional<Time> next_due() const;

 private:
  void tell_time();
  void listen(const ListenOrder& order);
  void reach(const ReachOrder& order);

  const Variables& variables_;
  Send send_;
  NameLookup look_up_;
  std::optional<ReachListener> listener_;
  std::optional<ReachAttempts> attempts_;
  std::size_t first_attempt_ = 0;  ///< in what the last add_polled added
};

}  // namespace troupe::detail
