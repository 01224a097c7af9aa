// A step of an optimizer that has begun and is not decided.
#pragma once

#include <memory>
#include <utility>

#include "actors/shards/optimizer_driver.h"
#include "messages/ids.h"

namespace troupe::detail {

/// Holds the serial of a step until its owners are told to take it. The destructor aborts the step on every owner,
/// unless decided() was called: so no exception leaves a step without an outcome. Not thread-safe.
class BegunStep {
 public:
  /// Throws as OptimizerDriver::step() if no further step is possible.
  BegunStep(std::shared_ptr<OptimizerDriver> driver, NodeCore& core)
      : driver_(std::move(driver)), id_(driver_->begin_step(core)) {}
  ~BegunStep();
  BegunStep(BegunStep&& other) noexcept = default;
  BegunStep& operator=(BegunStep&&) = delete;

  [[nodiscard]] const StepId& id() const noexcept { return id_; }

  /// Null after decided(), and in an object that was moved from.
  [[nodiscard]] const std::shared_ptr<OptimizerDriver>& driver() const noexcept { return driver_; }

  /// An owner may take the step from now on: a StepRun ends it.
  void decided() noexcept { driver_.reset(); }

 private:
  std::shared_ptr<OptimizerDriver> driver_;
  StepId id_;
};

}  // namespace troupe::detail
