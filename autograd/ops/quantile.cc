#include <utility>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/create.h"
#include "tensor/decompositions/quantile_plan.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::rounded_once;
using detail::Saved;
using detail::wide;

Variable in(const Variable& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }

}  // namespace

Variable median(const Variable& x) {
  const Tensor value = x.value();
  const Tensor result = median(value);
  return record("median", result, edges_of({&x}), rounded_once([x = Saved(value), y = Saved(result)](const Tensor& g) {
                  // The median of elements with NaN is NaN, which equals none of them.
                  const Tensor chosen = where(isnan(y.get()), isnan(x.get()), eq(x.get(), y.get())).to(g.dtype());
                  return mul(chosen, div(g, sum(chosen)));
                }));
}

SortedVariables median(const Variable& x, int dim, KeepDim keep) {
  const Tensor value = x.value();
  const Sorted result = median(value, dim, keep);
  const int at = normalize_dim("median", dim, value.shape());
  const Tensor places = keep == KeepDim::yes ? result.indices : result.indices.unsqueeze(at);
  return {record("median", result.values, edges_of({&x}),
                 [shape = value.shape(), at, places = Saved(places)](const Tensor& g) {
                   return scatter_add(zeros(shape, g.dtype(), g.device()), at, places.get(),
                                      g.reshape(places.get().shape()));
                 }),
          result.indices};
}

Variable quantile(const Variable& x, double q) { return quantile(reshape(x, {x.shape().numel()}), q, 0); }

Variable quantile(const Variable& x, double q, int dim, KeepDim keep) {
  return select(quantile(x, std::vector<double>{q}, dim, keep), 0, 0);
}

Variable quantile(const Variable& x, const std::vector<double>& q, int dim, KeepDim keep) {
  const int at = detail::checked_quantile_dim(x.shape(), q, dim);
  const DType dtype = promote_to_floating(x.dtype());
  const Variable real = detail::as_it_is(in(x, compute_dtype(dtype)));
  const Variable found = in(stack(detail::quantiles(real, real.value(), q, at)), dtype);
  return keep == KeepDim::yes ? found : squeeze(found, at + 1);
}

}  // namespace troupe
