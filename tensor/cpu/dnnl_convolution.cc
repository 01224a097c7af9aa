#include "tensor/cpu/dnnl_convolution.h"

#include "tensor/cpu/dnnl_plan.h"
#include "tensor/math_threads.h"

namespace troupe::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;

enum class Pass : std::uint8_t { forward = 1, forward_bias, backward_input, backward_weight };

struct Shapes {
  const Shape& x;
  const Shape& weight;
  const Shape& y;
};

DnnlPlanCache::Key make_key(Pass pass, const Shapes& shapes, const Conv2dOptions& o) {
  const Shape& x = shapes.x;
  const Shape& w = shapes.weight;
  return {static_cast<std::int64_t>(pass),
          MathThreads::current(),
          x[0],
          x[1],
          x[2],
          x[3],
          w[0],
          w[1],
          w[2],
          w[3],
          o.stride[0],
          o.stride[1],
          o.padding[0],
          o.padding[1],
          o.dilation[0],
          o.dilation[1],
          // What is left over at the far side depends on it, too.
          shapes.y[2],
          shapes.y[3]};
}

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

memory::desc plain(const Shape& shape) {
  return {dims_of(shape), memory::data_type::f32, shape.size() == 1 ? memory::format_tag::x : memory::format_tag::abcd};
}

memory::desc any_layout(const Shape& shape) {
  return {dims_of(shape), memory::data_type::f32, memory::format_tag::any};
}

// oneDNN wants a dimension for the groups.
memory::desc filters(const Shape& shape, std::int64_t groups, memory::format_tag grouped) {
  if (groups == 1) return grouped == memory::format_tag::any ? any_layout(shape) : plain(shape);
  return {{groups, shape[0] / groups, shape[1], shape[2], shape[3]}, memory::data_type::f32, grouped};
}
memory::desc any_filters(const Shape& shape, std::int64_t groups) {
  return filters(shape, groups, memory::format_tag::any);
}
memory::desc plain_filters(const Shape& shape, std::int64_t groups) {
  return filters(shape, groups, memory::format_tag::abcde);
}

/// Options as oneDNN counts them: dilation 0 is dense, and a far padding so that the sizes work out exactly.
struct Window {
  Window(const Shapes& s, const Conv2dOptions& o) {
    for (std::size_t i = 0; i < 2; ++i) {
      const int d = static_cast<int>(i) + 2;
      stride.push_back(o.stride[i]);
      dilation.push_back(o.dilation[i] - 1);
      near.push_back(o.padding[i]);
      far.push_back((s.y[d] - 1) * o.stride[i] + o.dilation[i] * (s.weight[d] - 1) + 1 - s.x[d] - o.padding[i]);
    }
  }
  memory::dims stride, dilation, near, far;
};

using Forward = dnnl::convolution_forward;
using BackwardInput = dnnl::convolution_backward_data;
using BackwardWeight = dnnl::convolution_backward_weights;

Forward::primitive_desc describe_forward(const Shapes& s, const Conv2dOptions& o, bool with_bias) {
  const Window w(s, o);
  const Shape bias_shape{s.weight[0]};
  const auto desc =
      with_bias
          ? Forward::desc(dnnl::prop_kind::forward_training, algorithm::convolution_direct, any_layout(s.x),
                          any_filters(s.weight, o.groups), plain(bias_shape), any_layout(s.y), w.stride, w.dilation, w.near, w.far)
          : Forward::desc(dnnl::prop_kind::forward_training, algorithm::convolution_direct, any_layout(s.x),
                          any_filters(s.weight, o.groups), any_layout(s.y), w.stride, w.dilation, w.near, w.far);
  return {desc, dnnl_attributes(), dnnl_engine()};
}

DnnlPlan plan_forward(const Shapes& s, const Conv2dOptions& o, bool with_bias) {
  const auto desc = describe_forward(s, o, with_bias);
  DnnlPlan plan(Forward(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_SRC, plain(s.x), desc.src_desc());
  plan.add_input(DNNL_ARG_WEIGHTS, plain_filters(s.weight, o.groups), desc.weights_desc());
  if (with_bias) plan.add_input(DNNL_ARG_BIAS, desc.bias_desc(), desc.bias_desc());
  plan.add_output(DNNL_ARG_DST, plain(s.y), desc.dst_desc());
  return plan;
}

DnnlPlan plan_backward_input(const Shapes& s, const Conv2dOptions& o) {
  const Window w(s, o);
  const BackwardInput::primitive_desc desc(
      BackwardInput::desc(algorithm::convolution_direct, any_layout(s.x), any_filters(s.weight, o.groups), any_layout(s.y),
                          w.stride, w.dilation, w.near, w.far),
      dnnl_attributes(), dnnl_engine(), describe_forward(s, o, false));
  DnnlPlan plan(BackwardInput(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_DIFF_DST, plain(s.y), desc.diff_dst_desc());
  plan.add_input(DNNL_ARG_WEIGHTS, plain_filters(s.weight, o.groups), desc.weights_desc());
  plan.add_output(DNNL_ARG_DIFF_SRC, plain(s.x), desc.diff_src_desc());
  return plan;
}

DnnlPlan plan_backward_weight(const Shapes& s, const Conv2dOptions& o) {
  const Window w(s, o);
  const BackwardWeight::primitive_desc desc(
      BackwardWeight::desc(algorithm::convolution_direct, any_layout(s.x), any_filters(s.weight, o.groups), any_layout(s.y),
                           w.stride, w.dilation, w.near, w.far),
      dnnl_attributes(), dnnl_engine(), describe_forward(s, o, false));
  DnnlPlan plan(BackwardWeight(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_DIFF_DST, plain(s.y), desc.diff_dst_desc());
  plan.add_input(DNNL_ARG_SRC, plain(s.x), desc.src_desc());
  plan.add_output(DNNL_ARG_DIFF_WEIGHTS, plain_filters(s.weight, o.groups), desc.diff_weights_desc());
  return plan;
}

// oneDNN takes every address as writable; inputs are not written.
void* input(const Tensor& x) { return const_cast<std::byte*>(x.bytes()); }

}  // namespace

void dnnl_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const Shapes shapes{x.shape(), weight.shape(), y.shape()};
  const bool with_bias = bias.defined();
  const auto plan = dnnl_plans().get(make_key(with_bias ? Pass::forward_bias : Pass::forward, shapes, options),
                                     [&] { return plan_forward(shapes, options, with_bias); });
  DnnlPlan::Addresses addresses{
      {DNNL_ARG_DST, y.mutable_bytes()}, {DNNL_ARG_SRC, input(x)}, {DNNL_ARG_WEIGHTS, input(weight)}};
  if (with_bias) addresses.emplace_back(DNNL_ARG_BIAS, input(bias));
  plan->run(addresses);
}

namespace {

void run_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options,
                        DnnlPlan::Reordered& reordered) {
  const Shapes shapes{dx.shape(), weight.shape(), dy.shape()};
  const auto plan = dnnl_plans().get(make_key(Pass::backward_input, shapes, options),
                                     [&] { return plan_backward_input(shapes, options); });
  plan->run({{DNNL_ARG_DIFF_SRC, dx.mutable_bytes()}, {DNNL_ARG_DIFF_DST, input(dy)}, {DNNL_ARG_WEIGHTS, input(weight)}},
            reordered);
}

void run_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options,
                         DnnlPlan::Reordered& reordered) {
  const Shapes shapes{x.shape(), dw.shape(), dy.shape()};
  const auto plan = dnnl_plans().get(make_key(Pass::backward_weight, shapes, options),
                                     [&] { return plan_backward_weight(shapes, options); });
  plan->run({{DNNL_ARG_DIFF_WEIGHTS, dw.mutable_bytes()}, {DNNL_ARG_DIFF_DST, input(dy)}, {DNNL_ARG_SRC, input(x)}},
            reordered);
}

}  // namespace

void dnnl_convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  DnnlPlan::Reordered reordered;
  run_backward_input(dx, dy, weight, options, reordered);
}

void dnnl_convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  DnnlPlan::Reordered reordered;
  run_backward_weight(dw, dy, x, options, reordered);
}

void dnnl_convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                            const Conv2dOptions& options) {
  DnnlPlan::Reordered reordered;
  run_backward_input(dx, dy, weight, options, reordered);
  run_backward_weight(dw, dy, x, options, reordered);
}

}  // namespace troupe::cpu
