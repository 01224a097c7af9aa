// Bounds what hostile peers can make a node log.
#pragma once

#include <chrono>

#include "actors/clock.h"

namespace troupe {

/// Five lines per second. One thread at a time.
class LineAllowance {
 public:
  /// Returns whether one more line may be logged now.
  [[nodiscard]] bool take(TimePoint now) {
    if (now - second_ >= std::chrono::seconds{1}) {
      second_ = now;
      taken_ = 0;
    }
    return taken_++ < kLinesPerSecond;
  }

 private:
  static constexpr int kLinesPerSecond = 5;
  TimePoint second_;
  int taken_ = 0;
};

}  // namespace troupe
