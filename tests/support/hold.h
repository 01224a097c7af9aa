// A served function that does not return until it is cancelled.
#pragma once

#include <condition_variable>
#include <mutex>

#include "actors/scope.h"

namespace troupe::testing {

/// Runs until no caller wants the result, without a wait of the library.
inline void hold(Scope& scope) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait(lock, scope.stop_token(), [] { return false; });
}

}  // namespace troupe::testing
