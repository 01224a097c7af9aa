#include "actors/shards/prepared_load.h"

namespace troupe::detail {

PreparedLoad::~PreparedLoad() {
  if (step_.driver() && has_taken_rates_) exchange_rates();
}

void PreparedLoad::take_rates() {
  exchange_rates();
  has_taken_rates_ = true;
}

void PreparedLoad::exchange_rates() {
  for (std::size_t group = 0; group < other_rates_.size(); ++group) {
    if (!other_rates_[group]) continue;
    const double before = step_.driver()->lr(group);
    step_.driver()->set_lr(group, *other_rates_[group]);
    other_rates_[group] = before;
  }
}

void PreparedLoad::commit(NodeCore& core, OptimizerDriver::Due due) {
  const auto driver = step_.driver();
  driver->commit(core, due, step_);
}

}  // namespace troupe::detail
