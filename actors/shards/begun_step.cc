#include "actors/shards/begun_step.h"

namespace troupe::detail {

BegunStep::~BegunStep() {
  if (driver_) driver_->abort(id_);
}

}  // namespace troupe::detail
