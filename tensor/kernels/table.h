// The kernels that operations call: those of the device where the result is.
//
// A kernel checks nothing and promotes nothing; the operation did. What each one does and requires is said in the
// header of its family, and holds on every device; all operands are with the result. Kernels whose family is not part
// of the table exist for the CPU alone and refuse other tensors (Tensor::bytes).
#pragma once

#include "tensor/device.h"
#include "tensor/kernels/class_loss.h"
#include "tensor/kernels/coalesce.h"
#include "tensor/kernels/convolution.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/embedding_bag.h"
#include "tensor/kernels/gather.h"
#include "tensor/kernels/global_norm.h"
#include "tensor/kernels/indexing.h"
#include "tensor/kernels/matmul.h"
#include "tensor/kernels/normalization.h"
#include "tensor/kernels/order.h"
#include "tensor/kernels/pair_loss.h"
#include "tensor/kernels/piecewise.h"
#include "tensor/kernels/pooling.h"
#include "tensor/kernels/random.h"
#include "tensor/kernels/recurrent.h"
#include "tensor/kernels/reduce.h"
#include "tensor/kernels/scan.h"
#include "tensor/kernels/search.h"
#include "tensor/kernels/softmax.h"
#include "tensor/kernels/update.h"
#include "tensor/tensor.h"

namespace troupe::kernels {

/// Every family that each device has. A call costs one indirect call.
struct KernelTable : ClassLossKernels,
                     CoalesceKernels,
                     ConvolutionKernels,
                     UnaryKernels,
                     BinaryKernels,
                     SelectKernels,
                     ConvertKernels,
                     BagKernels,
                     GatherKernels,
                     GlobalNormKernels,
                     IndexKernels,
                     MatmulKernels,
                     BatchNormKernels,
                     GroupNormKernels,
                     OrderKernels,
                     PairLossKernels,
                     PiecewiseKernels,
                     MaxPoolKernels,
                     AvgPoolKernels,
                     RandomKernels,
                     RecurrentKernels,
                     ReduceKernels,
                     ScanKernels,
                     SearchKernels,
                     SoftmaxKernels,
                     UpdateKernels {};

[[nodiscard]] inline bool on_gpu(const Tensor& x) { return x.device().kind == DeviceKind::cuda; }

}  // namespace troupe::kernels

namespace troupe {

/// Returns the kernels of `device`. Any thread; the table lives as long as the process.
/// Throws DeviceError `[data] on cuda:0: needs a tensor on the CPU, to(Device::cpu()) makes one` of a GPU in a build
/// without CUDA.
[[nodiscard]] const kernels::KernelTable& kernels_of(Device device);

/// Returns the kernels of the device where `x` is.
[[nodiscard]] inline const kernels::KernelTable& kernels_of(const Tensor& x) { return kernels_of(x.device()); }

}  // namespace troupe

namespace troupe::cpu {
[[nodiscard]] const kernels::KernelTable& kernel_table();
}  // namespace troupe::cpu
namespace troupe::cuda {
/// The same for all GPUs; `device` is for the error.
[[nodiscard]] const kernels::KernelTable& kernel_table(Device device);
}  // namespace troupe::cuda
