// Built without a compiler for GPUs: there are no kernels for them.
#include <fmt/format.h>

#include "tensor/error.h"
#include "tensor/kernels/table.h"

namespace troupe::cuda {

const kernels::KernelTable& kernel_table(Device device) {
  throw DeviceError(
      fmt::format("[data] on {}: needs a tensor on the CPU, to(Device::cpu()) makes one", to_string(device)));
}

}  // namespace troupe::cuda
