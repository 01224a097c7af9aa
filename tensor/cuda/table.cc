// The kernel table of GPUs.
#include "tensor/kernels/table.h"

namespace troupe::cuda {

const kernels::KernelTable& kernel_table(Device /*device*/) {
  static const kernels::KernelTable table{
      class_loss_kernels, coalesce_kernels,  convolution_kernels, unary_kernels,      binary_kernels,
      select_kernels,     convert_kernels,   bag_kernels,         gather_kernels,     global_norm_kernels,
      index_kernels,      matmul_kernels,    batch_norm_kernels,  group_norm_kernels, order_kernels,
      pair_loss_kernels,  piecewise_kernels, max_pool_kernels,    avg_pool_kernels,   random_kernels,
      recurrent_kernels,  reduce_kernels,    scan_kernels,        search_kernels,     softmax_kernels,
      update_kernels};
  return table;
}

}  // namespace troupe::cuda
