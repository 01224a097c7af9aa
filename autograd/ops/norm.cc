#include "autograd/ops/norm.h"

#include <algorithm>
#include <utility>

#include "autograd/record.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::Saved;
using detail::value_or_undefined;
using Edges = std::span<const Edge>;

/// The values of the three inputs; `weight` and `bias` may be undefined.
struct Inputs {
  Tensor x;
  Tensor weight;
  Tensor bias;
  Inputs(const Variable& x_, const Variable& weight_, const Variable& bias_)
      : x(x_.value()), weight(value_or_undefined(weight_)), bias(value_or_undefined(bias_)) {}
};

/// Records `forward`. `backward(grad, x, forward, weight)` returns the gradients; weight and bias gradients are then
/// converted to the dtypes of their inputs.
template <class Backward>
Variable record_norm(std::string_view name, const Inputs& inputs, const NormResult& forward, std::vector<Edge> edges,
                     Backward backward) {
  const DType weight_dtype = inputs.weight.defined() ? inputs.weight.dtype() : inputs.x.dtype();
  const DType bias_dtype = inputs.bias.defined() ? inputs.bias.dtype() : inputs.x.dtype();
  return record(
      name, forward.output, std::move(edges),
      [x = Saved(inputs.x), weight = Saved(inputs.weight), mean = Saved(forward.mean), var = Saved(forward.var),
       weight_dtype, bias_dtype, backward = std::move(backward)](const Tensor& g, Edges to) {
        const NormGradients found = backward(g, x.get(), NormResult{{}, mean.get(), var.get()}, weight.get());
        return std::vector<Tensor>{to[0] ? found.x : Tensor(), to[1] ? found.weight.to(weight_dtype) : Tensor(),
                                   to[2] ? found.bias.to(bias_dtype) : Tensor()};
      });
}

}  // namespace

BatchNormVariable batch_norm(const Variable& x, const RunningStatistics& running, const Variable& weight,
                             const Variable& bias, const BatchNormOptions& options) {
  const Inputs in(x, weight, bias);
  const BatchNormResult result = batch_norm(in.x, running, in.weight, in.bias, options);
  return {record_norm("batch_norm", in, result.norm, edges_of({&x, &weight, &bias}),
                      [options](const Tensor& g, const Tensor& value, const NormResult& forward, const Tensor& w) {
                        return batch_norm_backward(g, value, forward, w, options);
                      }),
          result.running};
}

Variable layer_norm(const Variable& x, const Shape& normalized_shape, const Variable& weight, const Variable& bias,
                    double eps) {
  const Inputs in(x, weight, bias);
  return record_norm(
      "layer_norm", in, layer_norm(in.x, normalized_shape, in.weight, in.bias, eps), edges_of({&x, &weight, &bias}),
      [normalized_shape, eps](const Tensor& g, const Tensor& value, const NormResult& forward, const Tensor& w) {
        return layer_norm_backward(g, value, forward, normalized_shape, w, eps);
      });
}

Variable group_norm(const Variable& x, std::int64_t groups, const Variable& weight, const Variable& bias, double eps) {
  const Inputs in(x, weight, bias);
  return record_norm("group_norm", in, group_norm(in.x, groups, in.weight, in.bias, eps),
                     edges_of({&x, &weight, &bias}),
                     [groups, eps](const Tensor& g, const Tensor& value, const NormResult& forward, const Tensor& w) {
                       return group_norm_backward(g, value, forward, groups, w, eps);
                     });
}

Variable instance_norm(const Variable& x, const Variable& weight, const Variable& bias, double eps) {
  const Inputs in(x, weight, bias);
  return record_norm("instance_norm", in, instance_norm(in.x, in.weight, in.bias, eps), edges_of({&x, &weight, &bias}),
                     [eps](const Tensor& g, const Tensor& value, const NormResult& forward, const Tensor& w) {
                       return group_norm_backward(g, value, forward, std::max<std::int64_t>(value.size(1), 1), w, eps);
                     });
}

}  // namespace troupe
