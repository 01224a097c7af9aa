// The table of kernels of a device. Operations call the kernels of the result's device.
//
// A kernel checks nothing and promotes nothing; the operation did both. The header of a family states what its kernels
// compute and require, on every device. REQUIRES, always: all operands are on the device of the result. Families
// outside the table are CPU only and throw for tensors on a GPU (Tensor::bytes). A compute dtype is one that
// compute_dtype() returns: i32, i64, f32 or f64.
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

/// All families that every device implements. A kernel call is one indirect call.
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

/// The kernels of `device`, each of which tells the calling thread's ComputeWatcher when it has run.
[[nodiscard]] const KernelTable& watched_table(Device device);

[[nodiscard]] inline bool on_gpu(const Tensor& x) { return x.device().kind == DeviceKind::cuda; }

}  // namespace troupe::kernels

namespace troupe {

/// Returns the kernels of `device`. Thread-safe; the table lives as long as the process. For a GPU in a build without
/// CUDA, throws DeviceError `[data] on cuda:0: needs a tensor on the CPU, to(Device::cpu()) makes one`.
[[nodiscard]] const kernels::KernelTable& kernels_of(Device device);

/// Returns the kernels of the device of `x`.
[[nodiscard]] inline const kernels::KernelTable& kernels_of(const Tensor& x) { return kernels_of(x.device()); }

}  // namespace troupe

namespace troupe::cpu {
[[nodiscard]] const kernels::KernelTable& kernel_table();
}  // namespace troupe::cpu
namespace troupe::cuda {
/// Returns the kernels of all GPUs; `device` is only named in the error.
[[nodiscard]] const kernels::KernelTable& kernel_table(Device device);
}  // namespace troupe::cuda
