// Repetition of calls whose node could not be reached.
#pragma once

#include <chrono>
#include <cstdint>

#include "actors/clock.h"
#include "messages/error.h"

namespace troupe {

/// When a call is repeated that failed because its node could not be reached, ended or had no room for it.
enum class Repeat : std::uint8_t {
  never,        ///< the caller handles the failure; the function runs at most once
  if_not_run,   ///< if the function certainly did not run (Execution::never): it runs at most once
  even_if_run,  ///< also if the function may have run: for an idempotent one, which a second run does not harm
};

/// The behavior of a call while its node is unreachable: silent, but not considered dead yet.
enum class Unreachable : std::uint8_t {
  wait,  ///< waits within its deadline
  fail,  ///< fails at once with peer_unreachable
};

/// The number of attempts and the pauses between them, which are not negative. All attempts together stay within the
/// call's deadline. No attempt follows a pause that the clock cannot represent, such as Duration::max().
struct RetryPolicy {
  int attempts_max = 4;                            ///< including the first one; at least 1
  Duration pause = std::chrono::milliseconds(50);  ///< before the second attempt; doubles each time
  Duration pause_max = std::chrono::seconds(2);
  /// Limits retries per destination: each call adds `budget` (0.2: one retry per five calls), each retry takes 1. It
  /// starts at ten; at most ten (or `budget`, if larger) are kept. Not negative.
  double budget = 0.2;
};

namespace detail {

/// Returns true if `repeat` allows to repeat a call that failed with `error`.
[[nodiscard]] bool may_repeat(const Error& error, Repeat repeat);

}  // namespace detail
}  // namespace troupe
