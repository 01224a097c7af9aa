#include "autograd/ops/image.h"

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/decompositions/resampling.h"

namespace troupe {

using detail::edges_of;
using detail::record;

Variable pixel_shuffle(const Variable& x, std::int64_t factor) {
  return record("pixel_shuffle", pixel_shuffle(x.value(), factor), edges_of({&x}),
                [factor](const Tensor& g) { return pixel_unshuffle(g, factor); });
}

Variable pixel_unshuffle(const Variable& x, std::int64_t factor) {
  return record("pixel_unshuffle", pixel_unshuffle(x.value(), factor), edges_of({&x}),
                [factor](const Tensor& g) { return pixel_shuffle(g, factor); });
}

Variable interpolate(const Variable& x, const InterpolateOptions& options) {
  const Tensor value = x.value();
  if (options.mode == InterpolateMode::nearest)
    return detail::resample(x, detail::resampled_dims(value, options, DType::f64));
  const DType computed = compute_dtype(value.dtype());
  const auto dims = detail::resampled_dims(value, options, computed);
  if (computed == value.dtype()) return dims.empty() ? x : detail::resample(detail::as_it_is(x), dims);
  return cast(detail::resample(cast(x, computed), dims), value.dtype());
}

Variable unfold(const Variable& x, const UnfoldOptions& options) {
  const Tensor value = x.value();
  Tensor windows = unfold(value, options);
  const Size2d size{value.size(2), value.size(3)};
  return record("unfold", std::move(windows), edges_of({&x}),
                [size, options](const Tensor& g) { return fold(g, size, options); });
}

Variable fold(const Variable& x, const Size2d& size, const UnfoldOptions& options) {
  return record("fold", fold(x.value(), size, options), edges_of({&x}),
                [options](const Tensor& g) { return unfold(g, options); });
}

}  // namespace troupe
