#include "tensor/kernels/update.h"

#include "tensor/cuda/launcher.h"
#include "tensor/cuda/update_kernels.h"

namespace troupe::cuda {
namespace {

void update(std::span<UpdateItem> items) { update_with(Launcher(items.front().value.device()), items); }

}  // namespace

const kernels::UpdateKernels update_kernels{.update = update};

}  // namespace troupe::cuda
