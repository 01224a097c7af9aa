// Kernels of update rules.
#pragma once

#include <span>

#include "tensor/ops/update.h"

namespace troupe::cpu {

/// See troupe::update(); the items have been checked. Throws DeviceError before anything is written.
void update(std::span<UpdateItem> items);

}  // namespace troupe::cpu
