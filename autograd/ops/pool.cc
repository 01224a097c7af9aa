#include "autograd/ops/pool.h"

#include <utility>

#include "autograd/record.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::Saved;

/// Records `result`. `options` are the arguments that max_pool_backward takes besides, if any.
template <class... Options>
Variable record_max_pool(std::string_view name, const Variable& x, const Shape& shape, MaxPoolResult result,
                         const Options&... options) {
  return record(name, std::move(result.output), edges_of({&x}),
                [where_max = Saved(std::move(result.where_max)), shape, options...](const Tensor& g) {
                  return max_pool_backward(g, where_max.get(), shape, options...);
                });
}

}  // namespace

Variable max_pool1d(const Variable& x, const MaxPool1dOptions& options) {
  const Tensor in = x.value();
  return record_max_pool("max_pool1d", x, in.shape(), max_pool1d(in, options), options);
}

Variable max_pool2d(const Variable& x, const MaxPool2dOptions& options) {
  const Tensor in = x.value();
  return record_max_pool("max_pool2d", x, in.shape(), max_pool2d(in, options), options);
}

Variable adaptive_max_pool2d(const Variable& x, const Size2d& size) {
  const Tensor in = x.value();
  return record_max_pool("adaptive_max_pool2d", x, in.shape(), adaptive_max_pool2d(in, size));
}

Variable avg_pool1d(const Variable& x, const AvgPool1dOptions& options) {
  const Tensor in = x.value();
  return record("avg_pool1d", avg_pool1d(in, options), edges_of({&x}),
                [shape = in.shape(), options](const Tensor& g) { return avg_pool1d_backward(g, shape, options); });
}

Variable avg_pool2d(const Variable& x, const AvgPool2dOptions& options) {
  const Tensor in = x.value();
  return record("avg_pool2d", avg_pool2d(in, options), edges_of({&x}),
                [shape = in.shape(), options](const Tensor& g) { return avg_pool2d_backward(g, shape, options); });
}

Variable adaptive_avg_pool1d(const Variable& x, std::int64_t size) {
  const Tensor in = x.value();
  return record("adaptive_avg_pool1d", adaptive_avg_pool1d(in, size), edges_of({&x}),
                [shape = in.shape()](const Tensor& g) { return adaptive_avg_pool1d_backward(g, shape); });
}

Variable adaptive_avg_pool2d(const Variable& x, const Size2d& size) {
  const Tensor in = x.value();
  return record("adaptive_avg_pool2d", adaptive_avg_pool2d(in, size), edges_of({&x}),
                [shape = in.shape()](const Tensor& g) { return adaptive_avg_pool2d_backward(g, shape); });
}

}  // namespace troupe
