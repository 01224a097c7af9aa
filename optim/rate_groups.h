// The interface through which schedules set the step sizes of an optimizer.
#pragma once

#include <cstddef>

namespace troupe::optim {

/// Groups of parameters, each with a step size and perhaps a momentum that a schedule sets. Implemented by
/// LocalOptimizer, and by DistOptimizer in actors/. Not thread-safe unless the derived class says so.
class RateGroups {
 public:
  virtual ~RateGroups() = default;

  /// Returns the number of groups, which are numbered from 0 on.
  [[nodiscard]] virtual std::size_t group_count() const noexcept = 0;

  /// Returns the step size of steps from now on. Throws IndexError `[optimizer] no group 2 of 2`, as every function
  /// with a group argument.
  [[nodiscard]] virtual double lr(std::size_t group) const = 0;
  /// Throws ValueError `[adam] lr is not a number >= 0: -0.1`.
  virtual void set_lr(std::size_t group, double lr) = 0;

  /// Returns the momentum of steps from now on; 0 if the group's rule has none.
  [[nodiscard]] virtual double momentum(std::size_t group) const = 0;
  /// Throws as Optimizer::set_momentum().
  virtual void set_momentum(std::size_t group, double momentum) = 0;

 protected:
  RateGroups() = default;
  RateGroups(const RateGroups&) = default;
  RateGroups& operator=(const RateGroups&) = default;
  RateGroups(RateGroups&&) = default;
  RateGroups& operator=(RateGroups&&) = default;
};

}  // namespace troupe::optim
