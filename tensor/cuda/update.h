// Kernels of GPUs for update rules.
#pragma once

#include <span>

#include "tensor/ops/update.h"

namespace troupe::cuda {

/// See troupe::update(); the items have been checked, there is at least one. One kernel for each. Throws DeviceError
/// `[update] devices differ: cuda:0 and cpu` before anything is written unless all tensors are on one GPU.
void update(std::span<UpdateItem> items);

}  // namespace troupe::cuda
