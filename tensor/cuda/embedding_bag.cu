#include "tensor/kernels/embedding_bag.h"

#include "tensor/cuda/embedding_bag_kernels.h"
#include "tensor/cuda/launcher.h"

namespace troupe::cuda {
namespace {

void bag_mean_scales(Tensor& scales, const Bags& bags) {
  bag_mean_scales_with(Launcher(scales.device()), scales, bags);
}

void bag_sum(Tensor& out, const Tensor& weight, const Bags& bags) {
  bag_sum_with(Launcher(out.device()), out, weight, bags);
}

void bag_max(Tensor& out, Tensor& where, const Tensor& weight, const Bags& bags) {
  bag_max_with(Launcher(out.device()), out, where, weight, bags);
}

void bag_add(Tensor& out, const Tensor& grad, const Bags& bags) {
  bag_add_with(Launcher(out.device()), out, grad, {}, bags);
}

void bag_values(Tensor& values, const Tensor& grad, const Bags& bags) {
  bag_values_with(Launcher(values.device()), values, grad, bags);
}

void bag_max_add(Tensor& out, const Tensor& grad, const Tensor& where, const Bags& bags) {
  bag_add_with(Launcher(out.device()), out, grad, where, bags);
}

void bag_max_values(Tensor& values, const Tensor& grad, const Tensor& where) {
  bag_max_values_with(Launcher(values.device()), values, grad, where);
}

void bag_scales_backward(Tensor& out, const Tensor& grad, const Tensor& weight, const Bags& bags) {
  bag_scales_backward_with(Launcher(out.device()), out, grad, weight, bags);
}

}  // namespace

const kernels::BagKernels bag_kernels{.bag_mean_scales = bag_mean_scales,
                                      .bag_sum = bag_sum,
                                      .bag_max = bag_max,
                                      .bag_add = bag_add,
                                      .bag_values = bag_values,
                                      .bag_max_add = bag_max_add,
                                      .bag_max_values = bag_max_values,
                                      .bag_scales_backward = bag_scales_backward};

}  // namespace troupe::cuda
