// Calls that may be made again when their node could not be reached.
#pragma once

#include <chrono>
#include <cstdint>

#include "actors/clock.h"
#include "messages/error.h"

namespace troupe {

/// What the caller knows of a function, and so when a failed call of it may be made again.
enum class Idempotency : std::uint8_t {
  at_most_once,  ///< never: the failure is the caller's to judge
  exactly_once,  ///< when it surely did not run (Execution::never)
  idempotent,    ///< also when it may have run: a second time does no harm
};

/// What a call does while its node is unreachable: silent, and not yet taken for dead.
enum class Unreachable : std::uint8_t {
  wait,  ///< within its deadline
  fail,  ///< with peer_unreachable, at once
};

/// How often, and after which pauses. All attempts together stay within the call's deadline.
struct RetryPolicy {
  int attempts_max = 4;                          ///< the first one counted
  Duration pause = std::chrono::milliseconds(50);  ///< before the second attempt; then twice as long each time
  Duration pause_max = std::chrono::seconds(2);
  double budget = 0.2;  ///< repeats per call, over all calls of this node to that one; ten are free
};

namespace detail {

/// Whether a call that failed like that may be made again: its node was not there, went away or had no room for it.
[[nodiscard]] bool may_repeat(const Error& error, Idempotency idempotency);

}  // namespace detail
}  // namespace troupe
