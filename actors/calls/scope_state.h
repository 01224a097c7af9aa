// The contents of a Scope, shared by its copies and by the calls made through it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include "actors/clock.h"
#include "actors/retry.h"
#include "autograd/call_path.h"
#include "messages/call_options.h"
#include "messages/device_map.h"
#include "messages/ids.h"

namespace troupe::detail {

class NodeCore;
class OpenCalls;

/// Numbers the calls and graph vertices of one served call. Shared by the scopes that its `with` returns.
struct CallCounters {
  std::atomic<std::uint32_t> next_call{0};    ///< index of the next nested call
  std::atomic<std::uint64_t> next_vertex{0};  ///< serial of the next graph vertex
};

/// Returns the path of calls that no served function makes.
[[nodiscard]] std::shared_ptr<const CallPath> root_path();
[[nodiscard]] std::shared_ptr<CallCounters> new_counters();

/// Immutable after construction, except for the counters.
struct ScopeState {
  std::shared_ptr<NodeCore> node;
  std::optional<TimePoint> due;           ///< nullopt: no limit beyond each call's own
  std::optional<Duration> call_deadline;  ///< of each call made through it; see `unlimited`
  bool unlimited = false;                 ///< calls have no time limit: Deadline::while_peer_lives()
  std::optional<ContextId> context;       ///< the distributed autograd context of calls and graph, if any
  std::shared_ptr<const CallPath> path = root_path();
  std::shared_ptr<CallCounters> counters = new_counters();
  std::uint64_t trace = 0;  ///< given by the user; nested calls inherit it and `priority`
  msg::Priority priority = msg::Priority::normal;
  Repeat repeat = Repeat::never;  ///< of calls made through it; so is `retry`
  RetryPolicy retry;
  Unreachable unreachable = Unreachable::wait;      ///< of calls made through it
  std::shared_ptr<const DeviceMap> answer_devices;  ///< for tensors in the answer to the caller; null: CPU to CPU
  msg::Sharing sharing = msg::Sharing::turns;       ///< of the values that `remote` makes
  NodeName caller;                                  ///< the node whose call is served; empty: none
  std::stop_token stop;
  std::shared_ptr<OpenCalls> open_calls;  ///< counts the calls made through it; null: not counted
};

/// Returns the due time of something that starts in this scope now: the earlier of the scope's end and one call's
/// limit; nullopt if neither is set.
[[nodiscard]] std::optional<TimePoint> due_of(const ScopeState& scope);

}  // namespace troupe::detail
