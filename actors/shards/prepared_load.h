// A load of an optimizer's state between its two phases.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "actors/shards/begun_step.h"
#include "actors/shards/optimizer_driver.h"

namespace troupe::detail {

/// A saved state that every owner has accepted and none has taken yet. Unless commit() has decided it, the destructor
/// aborts it on all owners and restores the earlier rates. Not thread-safe.
class PreparedLoad {
 public:
  explicit PreparedLoad(BegunStep step) : step_(std::move(step)) {}
  ~PreparedLoad();
  PreparedLoad(PreparedLoad&& other) noexcept = default;
  PreparedLoad& operator=(PreparedLoad&&) = delete;

  /// Sets the rates of the handle to those of the state.
  void take_rates();

  /// All owners take the state. Throws as a commit of OptimizerDriver::step(), which cannot be taken back, or
  /// std::bad_alloc before it is decided.
  void commit(NodeCore& core, OptimizerDriver::Due due);

 private:
  friend class OptimizerDriver;
  void exchange_rates();

  BegunStep step_;
  std::vector<std::optional<double>> other_rates_;  // of the groups: those of the state, or the earlier ones
  bool has_taken_rates_ = false;
};

}  // namespace troupe::detail
