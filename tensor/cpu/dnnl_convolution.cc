#include "tensor/cpu/dnnl_convolution.h"

#include <algorithm>
#include <memory>

#include "tensor/cpu/dnnl_plan.h"
#include "tensor/cpu/thread_team.h"
#include "tensor/math_threads.h"

namespace troupe::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;

enum class Pass : std::uint8_t { forward = 1, forward_bias, backward_input, backward_weight };

/// The shapes of one run of a plan.
struct Shapes {
  Shape x;
  Shape weight;
  Shape y;
};

DnnlPlanCache::Key make_key(Pass pass, const Shapes& shapes, const Conv2dOptions& o) {
  const Shape& x = shapes.x;
  const Shape& w = shapes.weight;
  return {static_cast<std::int64_t>(pass), MathThreads::current(), x[0], x[1], x[2], x[3], w[0], w[1], w[2], w[3],
          o.stride[0], o.stride[1], o.padding[0], o.padding[1], o.dilation[0], o.dilation[1],
          // The unused far side depends on the sizes of y too.
          shapes.y[2], shapes.y[3]};
}

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

memory::desc plain(const Shape& shape) {
  return {dims_of(shape), memory::data_type::f32, shape.size() == 1 ? memory::format_tag::x : memory::format_tag::abcd};
}

memory::desc any_layout(const Shape& shape) {
  return {dims_of(shape), memory::data_type::f32, memory::format_tag::any};
}

// oneDNN requires a dimension for groups.
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

/// Options in oneDNN's form: dilation 0 is dense, and the far padding makes the sizes exact.
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
      with_bias ? Forward::desc(dnnl::prop_kind::forward_training, algorithm::convolution_direct, any_layout(s.x),
                                any_filters(s.weight, o.groups), plain(bias_shape), any_layout(s.y), w.stride,
                                w.dilation, w.near, w.far)
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
      BackwardInput::desc(algorithm::convolution_direct, any_layout(s.x), any_filters(s.weight, o.groups),
                          any_layout(s.y), w.stride, w.dilation, w.near, w.far),
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
      BackwardWeight::desc(algorithm::convolution_direct, any_layout(s.x), any_filters(s.weight, o.groups),
                           any_layout(s.y), w.stride, w.dilation, w.near, w.far),
      dnnl_attributes(), dnnl_engine(), describe_forward(s, o, false));
  DnnlPlan plan(BackwardWeight(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_DIFF_DST, plain(s.y), desc.diff_dst_desc());
  plan.add_input(DNNL_ARG_SRC, plain(s.x), desc.src_desc());
  plan.add_summed_output(DNNL_ARG_DIFF_WEIGHTS, plain_filters(s.weight, o.groups), desc.diff_weights_desc());
  return plan;
}

// A convolution split into runs over some images each, so that reordered data stays in a core's second-level cache.
class Images {
 public:
  Images(const Shape& x, const Shape& weight, const Shape& y, const Conv2dOptions& options)
      : options_(options), shapes_{x, weight, y}, runs_(runs_of(shapes_)) {
    shapes_.x[0] /= runs_;
    shapes_.y[0] /= runs_;
  }

  [[nodiscard]] std::int64_t runs() const { return runs_; }
  /// Returns the address of run i's part of x or y.
  [[nodiscard]] void* x_of(std::byte* x, std::int64_t i) const { return part(x, shapes_.x, i); }
  [[nodiscard]] void* y_of(std::byte* y, std::int64_t i) const { return part(y, shapes_.y, i); }

  [[nodiscard]] std::shared_ptr<const DnnlPlan> forward(bool with_bias) const {
    return dnnl_plans().get(make_key(with_bias ? Pass::forward_bias : Pass::forward, shapes_, options_),
                            [&] { return plan_forward(shapes_, options_, with_bias); });
  }
  [[nodiscard]] std::shared_ptr<const DnnlPlan> backward_input() const {
    return dnnl_plans().get(make_key(Pass::backward_input, shapes_, options_),
                            [&] { return plan_backward_input(shapes_, options_); });
  }
  [[nodiscard]] std::shared_ptr<const DnnlPlan> backward_weight() const {
    return dnnl_plans().get(make_key(Pass::backward_weight, shapes_, options_),
                            [&] { return plan_backward_weight(shapes_, options_); });
  }

 private:
  static void* part(std::byte* data, const Shape& shape, std::int64_t i) {
    return data + static_cast<std::size_t>(i * shape.numel()) * sizeof(float);
  }

  // Each run reads and writes its images in both layouts. All runs have equal sizes and so one plan.
  static std::int64_t runs_of(const Shapes& s) {
    constexpr std::int64_t kBytes = 3 << 19;
    const std::int64_t images = s.x[0];
    const std::int64_t bytes = 2 * static_cast<std::int64_t>(sizeof(float)) * (s.x.numel() + s.y.numel());
    const std::int64_t wanted = (bytes + kBytes - 1) / kBytes / MathThreads::current();
    // If the number of images has few divisors, runs could become too short to be worth their calls.
    for (std::int64_t runs = std::max<std::int64_t>(wanted, 1); runs <= std::min(images, 4 * wanted); ++runs) {
      if (images % runs == 0) return runs;
    }
    return 1;
  }

  Conv2dOptions options_;
  Shapes shapes_;
  std::int64_t runs_;
};

// oneDNN takes only non-const addresses, but does not write inputs.
std::byte* input(const Tensor& x) { return const_cast<std::byte*>(x.bytes()); }

}  // namespace

void dnnl_convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  const ThreadTeam team;
  const Images images(x.shape(), weight.shape(), y.shape(), options);
  const auto plan = images.forward(bias.defined());
  std::byte* const to = y.mutable_bytes();
  DnnlRuns runs;
  for (std::int64_t i = 0; i < images.runs(); ++i) {
    void* const from = images.x_of(input(x), i);
    DnnlPlan::Addresses addresses{
        {DNNL_ARG_DST, images.y_of(to, i)}, {DNNL_ARG_SRC, from}, {DNNL_ARG_WEIGHTS, input(weight)}};
    if (bias.defined()) addresses.emplace_back(DNNL_ARG_BIAS, input(bias));
    plan->run(addresses, runs);
    runs.forget(from);
  }
}

void dnnl_convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  const ThreadTeam team;
  const Images images(dx.shape(), weight.shape(), dy.shape(), options);
  const auto plan = images.backward_input();
  std::byte* const to = dx.mutable_bytes();
  DnnlRuns runs;
  for (std::int64_t i = 0; i < images.runs(); ++i) {
    void* const from = images.y_of(input(dy), i);
    plan->run({{DNNL_ARG_DIFF_SRC, images.x_of(to, i)}, {DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_WEIGHTS, input(weight)}},
              runs);
    runs.forget(from);
  }
}

void dnnl_convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  const ThreadTeam team;
  const Images images(x.shape(), dw.shape(), dy.shape(), options);
  const auto plan = images.backward_weight();
  DnnlRuns runs;
  for (std::int64_t i = 0; i < images.runs(); ++i) {
    void* const g = images.y_of(input(dy), i);
    void* const from = images.x_of(input(x), i);
    plan->run({{DNNL_ARG_DIFF_DST, g}, {DNNL_ARG_SRC, from}}, runs);
    runs.forget(g);
    runs.forget(from);
  }
  plan->finish({{DNNL_ARG_DIFF_WEIGHTS, dw.mutable_bytes()}}, runs);
}

void dnnl_convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                            const Conv2dOptions& options) {
  const ThreadTeam team;
  const Images images(x.shape(), weight.shape(), dy.shape(), options);
  const auto by_input = images.backward_input();
  const auto by_weight = images.backward_weight();
  std::byte* const to = dx.mutable_bytes();
  DnnlRuns runs;
  for (std::int64_t i = 0; i < images.runs(); ++i) {
    void* const g = images.y_of(input(dy), i);
    void* const from = images.x_of(input(x), i);
    by_input->run({{DNNL_ARG_DIFF_SRC, images.x_of(to, i)}, {DNNL_ARG_DIFF_DST, g}, {DNNL_ARG_WEIGHTS, input(weight)}},
                  runs);
    by_weight->run({{DNNL_ARG_DIFF_DST, g}, {DNNL_ARG_SRC, from}}, runs);
    runs.forget(g);
    runs.forget(from);
  }
  by_weight->finish({{DNNL_ARG_DIFF_WEIGHTS, dw.mutable_bytes()}}, runs);
}

}  // namespace troupe::cpu
