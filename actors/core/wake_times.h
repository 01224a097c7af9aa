// The wake-ups that are requested of a clock.
#pragma once

#include <vector>

#include "actors/clock.h"

namespace troupe::detail {

/// One is requested only if it is earlier than all that are pending: each time is requested once, however often others
/// come before it, and those that came for nothing are few. Thread rule: one thread at a time.
class WakeTimes {
 public:
  /// Returns whether a wake-up at `due` is to be requested. Throws std::bad_alloc, before it is.
  [[nodiscard]] bool misses(TimePoint due) {
    if (!pending_.empty() && pending_.back() <= due) return false;
    pending_.reserve(pending_.size() + 1);
    return true;
  }

  /// It is requested. REQUIRES: misses(due) was true just before.
  void requested(TimePoint due) noexcept { pending_.push_back(due); }

  /// A wake-up has come. Returns false if its time was up at an earlier one: then there is nothing to do.
  [[nodiscard]] bool came(TimePoint now) noexcept {
    bool is_first = false;
    for (; !pending_.empty() && pending_.back() <= now; pending_.pop_back()) is_first = true;
    return is_first;
  }

 private:
  std::vector<TimePoint> pending_;  // the latest first
};

}  // namespace troupe::detail
