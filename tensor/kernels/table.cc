#include "tensor/kernels/table.h"

#include "tensor/compute_watcher.h"

namespace troupe {

const kernels::KernelTable& kernels_of(Device device) {
  if (ComputeWatcher::here() != nullptr) return kernels::watched_table(device);
  return device.kind == DeviceKind::cpu ? cpu::kernel_table() : cuda::kernel_table(device);
}

}  // namespace troupe
