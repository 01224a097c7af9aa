// What happens while the test's thread waits, done by that thread itself: so a test says when a wait is under way.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"

namespace troupe::testing {

/// The first wait of this thread does the first of `acts`, the second the second, and so on. A wait is over when its
/// act is done: with what was waited for, or as if it had waited until its due time.
class Meanwhile final : private detail::BlockingHook {
 public:
  using Act = std::function<void(const detail::WaitPoint&)>;

  explicit Meanwhile(std::vector<Act> acts) : acts_(std::move(acts)), guard_(*this) {}

  /// Waits so far.
  [[nodiscard]] std::size_t waits() const { return waits_; }

 private:
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    BOOST_REQUIRE(waits_ < acts_.size());
    acts_[waits_++](point);
    BOOST_REQUIRE((due || point.signalled()));  // else it would have no end
    return point.signalled();
  }

  const std::vector<Act> acts_;
  std::size_t waits_ = 0;
  const Guard guard_;
};

}  // namespace troupe::testing
