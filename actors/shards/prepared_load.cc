#include "actors/shards/prepared_load.h"

#include <utility>

namespace troupe::detail {

PreparedLoad::~PreparedLoad() {
  if (!driver_) return;
  if (has_taken_rates_) exchange_rates();
  if (const auto core = driver_->node_.lock()) driver_->abort(*core, step_);
}

void PreparedLoad::take_rates() {
  exchange_rates();
  has_taken_rates_ = true;
}

void PreparedLoad::exchange_rates() {
  for (std::size_t group = 0; group < other_rates_.size(); ++group) {
    if (!other_rates_[group]) continue;
    const double before = driver_->lr(group);
    driver_->set_lr(group, *other_rates_[group]);
    other_rates_[group] = before;
  }
}

void PreparedLoad::commit(NodeCore& core, OptimizerDriver::Due due) {
  const auto driver = std::exchange(driver_, nullptr);  // decided: whatever commit throws, it is not taken back
  driver->commit(core, due, step_);
}

}  // namespace troupe::detail
