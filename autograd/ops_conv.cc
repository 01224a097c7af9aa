#include "autograd/ops_conv.h"

#include "autograd/record.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::saved_for;
using Edges = std::span<const Edge>;

Tensor value_or_undefined(const Variable& x) { return x.defined() ? x.value() : Tensor(); }

}  // namespace

Variable conv2d(const Variable& x, const Variable& weight, const Variable& bias, const Conv2dOptions& options) {
  const Tensor in = x.value();
  const Tensor w = weight.value();
  return record("conv2d", conv2d(in, w, value_or_undefined(bias), options), edges_of({&x, &weight, &bias}),
                [x_shape = in.shape(), w_shape = w.shape(), in = saved_for(weight, in), w = saved_for(x, w), options](
                    const Tensor& g, Edges to) {
                  return std::vector<Tensor>{to[0] ? conv2d_backward_input(g, w.get(), x_shape, options) : Tensor(),
                                             to[1] ? conv2d_backward_weight(g, in.get(), w_shape, options) : Tensor(),
                                             to[2] ? sum(g, {0, 2, 3}) : Tensor()};
                });
}

}  // namespace troupe
