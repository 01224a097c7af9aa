#include "tensor/cuda/update.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/update_kernels.h"

namespace troupe::cuda {

void update(std::span<UpdateItem> items) { update_with(Launcher(items.front().value.device()), items); }

}  // namespace troupe::cuda
