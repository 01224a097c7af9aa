// One node's view of its world's time.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "actors/clock.h"
#include "messages/ids.h"
#include "node/sim/schedule.h"

namespace troupe::sim {

/// Timers are events of the world's schedule, on its thread. REQUIRES: the caller holds the baton.
class SimClock final : public Clock {
 public:
  SimClock(std::shared_ptr<Schedule> schedule, NodeName node)
      : schedule_(std::move(schedule)), node_(std::move(node)) {}

  [[nodiscard]] TimePoint now() const override { return schedule_->now(); }

  TimerId at(TimePoint due, std::function<void()> action) override {
    return alive_ ? TimerId{schedule_->at(due, node_, "timer", std::move(action))} : TimerId{};
  }

  void cancel(TimerId timer) override { schedule_->cancel(timer.value); }

  /// The node is dead: accepts no further timer.
  void kill() { alive_ = false; }

 private:
  const std::shared_ptr<Schedule> schedule_;
  const NodeName node_;
  bool alive_ = true;
};

}  // namespace troupe::sim
