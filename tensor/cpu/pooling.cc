#include "tensor/cpu/pooling.h"

#include <fmt/format.h>

#include "tensor/cpu/dnnl_plan.h"
#include "tensor/cpu/elements.h"
#include "tensor/math_threads.h"

namespace troupe::cpu {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

enum class Pass : std::uint8_t { forward = 11, backward };

DnnlPlanCache::Key make_key(Pass pass, const Shape& x, const Pool2dOptions& o) {
  return {static_cast<std::int64_t>(pass),
          MathThreads::current(),
          x[0],
          x[1],
          x[2],
          x[3],
          o.kernel[0],
          o.kernel[1],
          o.stride[0],
          o.stride[1],
          o.padding[0],
          o.padding[1]};
}

memory::desc plain(const Shape& shape) {
  return {{shape.begin(), shape.end()}, memory::data_type::f32, memory::format_tag::nchw};
}

struct Window {
  Window(const Shape& x, const Shape& y, const Pool2dOptions& o) {
    for (std::size_t i = 0; i < 2; ++i) {
      const int d = static_cast<int>(i) + 2;
      stride.push_back(o.stride[i]);
      kernel.push_back(o.kernel[i]);
      near.push_back(o.padding[i]);
      // What of the image the last window leaves over counts as negative padding.
      far.push_back((y[d] - 1) * o.stride[i] + o.kernel[i] - x[d] - o.padding[i]);
    }
  }
  memory::dims stride, kernel, near, far;
};

Forward::primitive_desc describe_forward(const Shape& x, const Shape& y, const Pool2dOptions& o) {
  const Window w(x, y, o);
  return {Forward::desc(dnnl::prop_kind::forward_training, algorithm::pooling_max, plain(x), plain(y), w.stride,
                        w.kernel, w.near, w.far),
          dnnl_attributes(), dnnl_engine()};
}

DnnlPlan plan_forward(const Shape& x, const Shape& y, const Pool2dOptions& o) {
  const auto desc = describe_forward(x, y, o);
  DnnlPlan plan(Forward(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_SRC, plain(x), desc.src_desc());
  plan.add_output(DNNL_ARG_DST, plain(y), desc.dst_desc());
  plan.add_output(DNNL_ARG_WORKSPACE, desc.workspace_desc(), desc.workspace_desc());
  return plan;
}

DnnlPlan plan_backward(const Shape& x, const Shape& y, const Pool2dOptions& o) {
  const Window w(x, y, o);
  const Backward::primitive_desc desc(
      Backward::desc(algorithm::pooling_max, plain(x), plain(y), w.stride, w.kernel, w.near, w.far), dnnl_attributes(),
      dnnl_engine(), describe_forward(x, y, o));
  DnnlPlan plan(Backward(desc), desc.scratchpad_desc());
  plan.add_input(DNNL_ARG_DIFF_DST, plain(y), desc.diff_dst_desc());
  plan.add_input(DNNL_ARG_WORKSPACE, desc.workspace_desc(), desc.workspace_desc());
  plan.add_output(DNNL_ARG_DIFF_SRC, plain(x), desc.diff_src_desc());
  return plan;
}

void* input(const Tensor& x) { return const_cast<std::byte*>(x.bytes()); }

// The offset in its plane of the first largest element of one window, NaN largest of all.
std::int64_t largest(const double* plane, const Shape& x, std::int64_t row, std::int64_t col, const Pool2dOptions& o) {
  const std::int64_t top = row * o.stride[0] - o.padding[0];
  const std::int64_t left = col * o.stride[1] - o.padding[1];
  std::int64_t best = -1;
  for (std::int64_t h = std::max<std::int64_t>(top, 0); h < std::min(top + o.kernel[0], x[2]); ++h) {
    for (std::int64_t w = std::max<std::int64_t>(left, 0); w < std::min(left + o.kernel[1], x[3]); ++w) {
      const std::int64_t at = h * x[3] + w;
      const bool better = best < 0 || plane[at] > plane[best] || (plane[at] != plane[at] && plane[best] == plane[best]);
      if (better) best = at;
    }
  }
  return best;
}

Tensor max_pool_f64(Tensor& y, const Tensor& x, const Pool2dOptions& options) {
  Tensor where_max = Tensor::empty(y.shape(), DType::i64);
  auto* const to = mutable_elements<double>(y);
  auto* const places = mutable_elements<std::int64_t>(where_max);
  const auto* const from = elements<double>(x);
  const std::int64_t plane = x.size(2) * x.size(3);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const std::int64_t col = i % y.size(3);
    const std::int64_t row = i / y.size(3) % y.size(2);
    const double* const image = from + i / (y.size(2) * y.size(3)) * plane;
    places[i] = largest(image, x.shape(), row, col, options);
    to[i] = image[places[i]];
  }
  return where_max;
}

void max_pool_backward_f64(Tensor& dx, const Tensor& dy, const Tensor& where_max) {
  dx.fill(0.0);
  auto* const to = mutable_elements<double>(dx);
  const auto* const g = elements<double>(dy);
  const auto* const places = elements<std::int64_t>(where_max);
  const std::int64_t plane = dx.size(2) * dx.size(3);
  const std::int64_t windows = dy.size(2) * dy.size(3);
  for (std::int64_t i = 0; i < dy.numel(); ++i) to[i / windows * plane + places[i]] += g[i];
}

void require_where_max(const Tensor& where_max, std::int64_t size, DType dtype) {
  if (where_max.numel() == size && where_max.dtype() == dtype) return;
  throw ShapeError(fmt::format("[max_pool2d_backward] where_max does not fit: {} {} for {} {}", where_max.numel(),
                               name_of(where_max.dtype()), size, name_of(dtype)));
}

}  // namespace

Tensor max_pool(Tensor& y, const Tensor& x, const Pool2dOptions& options) {
  if (y.dtype() == DType::f64) return max_pool_f64(y, x, options);
  const auto plan = dnnl_plans().get(make_key(Pass::forward, x.shape(), options),
                                     [&] { return plan_forward(x.shape(), y.shape(), options); });
  const auto size = static_cast<std::int64_t>(plan->size_of(DNNL_ARG_WORKSPACE));
  Tensor where_max = Tensor::empty({size}, DType::u8);
  plan->run(
      {{DNNL_ARG_DST, y.mutable_bytes()}, {DNNL_ARG_WORKSPACE, where_max.mutable_bytes()}, {DNNL_ARG_SRC, input(x)}});
  return where_max;
}

void max_pool_backward(Tensor& dx, const Tensor& dy, const Tensor& where_max, const Pool2dOptions& options) {
  if (dx.dtype() == DType::f64) {
    require_where_max(where_max, dy.numel(), DType::i64);
    return max_pool_backward_f64(dx, dy, where_max);
  }
  const auto plan = dnnl_plans().get(make_key(Pass::backward, dx.shape(), options),
                                     [&] { return plan_backward(dx.shape(), dy.shape(), options); });
  require_where_max(where_max, static_cast<std::int64_t>(plan->size_of(DNNL_ARG_WORKSPACE)), DType::u8);
  plan->run({{DNNL_ARG_DIFF_SRC, dx.mutable_bytes()},
             {DNNL_ARG_DIFF_DST, input(dy)},
             {DNNL_ARG_WORKSPACE, input(where_max)}});
}

}  // namespace troupe::cpu
