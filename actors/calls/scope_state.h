// What a Scope holds; shared by all copies of it and by the calls made through it.
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

/// Numbers the calls and graph vertices of one call. Shared by the scopes made from it with `with`.
struct CallCounters {
  std::atomic<std::uint32_t> next_call{0};    ///< index of the next nested call
  std::atomic<std::uint64_t> next_vertex{0};  ///< serial of the next graph vertex
};

/// Immutable after construction, apart from the counters.
struct ScopeState {
  std::shared_ptr<NodeCore> node;
  std::optional<TimePoint> due;           ///< nothing: no limit beyond each call's own
  std::optional<Duration> call_deadline;  ///< for each call made through it; see `unlimited`
  bool unlimited = false;                 ///< calls have no time limit: Deadline::while_peer_lives()
  std::optional<ContextId> context;       ///< calls and graph belong to this distributed autograd context
  std::shared_ptr<const CallPath> path = std::make_shared<CallPath>();
  std::shared_ptr<CallCounters> counters = std::make_shared<CallCounters>();
  std::uint64_t trace = 0;                ///< given by the user, travels to nested calls, as `priority`
  msg::Priority priority = msg::Priority::normal;
  Idempotency idempotency = Idempotency::at_most_once;  ///< of calls made through it, as `retry`
  RetryPolicy retry;
  Unreachable unreachable = Unreachable::wait;  ///< of calls made through it
  std::shared_ptr<const DeviceMap> answer_devices;  ///< for tensors in the answer to the caller; null: CPU to CPU
  msg::Sharing sharing = msg::Sharing::turns;  ///< of the values that `remote` makes
  NodeName caller;                        ///< whose call is served; empty: nobody's
  std::stop_token stop;
  std::shared_ptr<OpenCalls> open_calls;  ///< counts the calls made through it; null: nobody does
};

/// When something that is begun in this scope now must be done: the earlier of the scope's end and the limit of one
/// call; nothing if neither is set.
[[nodiscard]] std::optional<TimePoint> due_of(const ScopeState& scope);

}  // namespace troupe::detail
