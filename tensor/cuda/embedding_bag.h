// Bags of rows on GPUs: what tensor/cpu/embedding_bag.h says holds here, of tensors on one GPU. The same bits as on the CPU, but
// for the gradient by the scales.
#pragma once

#include "tensor/cpu/embedding_bag.h"

namespace troupe::cuda {

void bag_mean_scales(Tensor& scales, const cpu::Bags& bags);

void bag_sum(Tensor& out, const Tensor& weight, const cpu::Bags& bags);
void bag_max(Tensor& out, Tensor& where, const Tensor& weight, const cpu::Bags& bags);

void bag_add(Tensor& out, const Tensor& grad, const cpu::Bags& bags);
void bag_values(Tensor& values, const Tensor& grad, const cpu::Bags& bags);

void bag_max_add(Tensor& out, const Tensor& grad, const Tensor& where, const cpu::Bags& bags);
void bag_max_values(Tensor& values, const Tensor& grad, const Tensor& where);

void bag_scales_backward(Tensor& out, const Tensor& grad, const Tensor& weight, const cpu::Bags& bags);

}  // namespace troupe::cuda
