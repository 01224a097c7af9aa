// Whether a thread that is about to sleep looks a little longer first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace troupe::detail {

/// Waking a thread costs more time than many answers take, so a thread looks for a while first. After the second look
/// in a row that found nothing, one look is skipped, and after each further one about twice as many, up to 31: then
/// looking costs less than waking. While other programs want the processor, sleeping is faster: the system runs a woken
/// thread before those that used up their time. Thread rule: one thread at a time.
class Spin {
 public:
  using Clock = std::chrono::steady_clock;

  /// Longer than a peer needs to wake up (45 us on a virtual machine) and then to work. With less, two nodes that both
  /// sleep would never find each other awake, and would go on sleeping.
  static constexpr std::chrono::microseconds kLimit{200};

  /// A look of this length gave way to a thread that worked for a whole time slice, about 3 ms. For kRest no look
  /// follows, so that such slices cost less than 1 % of the time.
  static constexpr std::chrono::milliseconds kTooLong{1};
  static constexpr std::chrono::milliseconds kRest{500};

  /// Returns whether to look now. REQUIRES: then ended() is called.
  [[nodiscard]] bool is_due(Clock::time_point now) {
    if (now < rests_until_) return false;
    if (left_out_ == 0) return true;
    --left_out_;
    return false;
  }

  /// The look from `begin` to `end` found something, or not.
  void ended(Clock::time_point begin, Clock::time_point end, bool something) {
    misses_ = something ? 0 : std::min<std::uint32_t>(misses_ + 1, kMissesMax);
    left_out_ = misses_ == 0 ? 0 : (std::uint32_t{1} << (misses_ - 1)) - 1;
    if (end - begin >= kTooLong) rests_until_ = end + kRest;
  }

 private:
  static constexpr std::uint32_t kMissesMax = 6;  // more look alike

  std::uint32_t misses_ = 0;       ///< in a row
  std::uint32_t left_out_ = 0;     ///< looks to come
  Clock::time_point rests_until_;  ///< no look before
};

}  // namespace troupe::detail
