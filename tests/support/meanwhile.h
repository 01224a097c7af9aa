// Runs code while the test's thread waits, on that thread itself: the test thus knows that the wait has begun.
#pragma once

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "actors/core/wait_point.h"

namespace troupe::testing {

/// The first wait of this thread runs the first of `acts`, the second wait the second, and so on. A wait ends when its
/// act has returned: with the awaited result, or as a timeout at its due time.
class Meanwhile final : private detail::BlockingHook {
 public:
  using Act = std::function<void(const detail::WaitPoint&)>;

  explicit Meanwhile(std::vector<Act> acts) : acts_(std::move(acts)), guard_(*this) {}

  /// Returns the number of waits so far.
  [[nodiscard]] std::size_t waits() const { return waits_; }

 private:
  bool wait(detail::WaitPoint& point, std::optional<TimePoint> due) override {
    BOOST_REQUIRE(waits_ < acts_.size());
    acts_[waits_++](point);
    BOOST_REQUIRE((due || point.signalled()));  // otherwise the wait would never end
    return point.signalled();
  }

  const std::vector<Act> acts_;
  std::size_t waits_ = 0;
  const Guard guard_;
};

}  // namespace troupe::testing
