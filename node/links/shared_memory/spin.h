// Whether a thread that is about to sleep looks a little longer first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace troupe::detail {

/// To wake a thread costs more time than many answers take. Looking pays while it finds something; each time that it
/// did not, the next looks are left out, twice as many as before, up to 31: then a look costs less than waking does.
/// Thread rule: one thread at a time.
class Spin {
 public:
  /// Longer than most legs of a backward pass: what a node does between two messages.
  static constexpr std::chrono::microseconds kLimit{50};

  /// Returns whether to look now. REQUIRES: then found() is called.
  [[nodiscard]] bool is_due() {
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }

  void found(bool something) {
    misses_ = something ? 0 : std::min<std::uint32_t>(misses_ + 1, kMissesMax);
    left_out_ = (std::uint32_t{1} << misses_) - 1;
  }

 private:
  static constexpr std::uint32_t kMissesMax = 5;  // more look alike

  std::uint32_t misses_ = 0;    ///< in a row
  std::uint32_t left_out_ = 0;  ///< looks to come
};

}  // namespace troupe::detail
