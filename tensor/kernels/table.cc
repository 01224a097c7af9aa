#include "tensor/kernels/table.h"

namespace troupe {

const kernels::KernelTable& kernels_of(Device device) {
  return device.kind == DeviceKind::cpu ? cpu::kernel_table() : cuda::kernel_table(device);
}

}  // namespace troupe
