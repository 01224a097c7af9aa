#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

KeepDim keep(const Case& c) { return c.flag("keep") ? KeepDim::yes : KeepDim::no; }

template <class X>
Entry over_axes(X (*op)(const X&, const Axes&, KeepDim)) {
  return [op](const Case& c) {
    if constexpr (std::is_same_v<X, Tensor>)
      return op(c.tensor(0), Axes(c.dims("axes")), keep(c));
    else
      return op(c.in(0), Axes(c.dims("axes")), keep(c));
  };
}

}  // namespace

Entries reduce_entries() {
  return {
      {"sum", [](const Case& c) { return sum(c.in(0)); }},
      {"sum_axes", over_axes<Variable>(&sum)},
      {"mean", [](const Case& c) { return mean(c.in(0)); }},
      {"mean_axes", over_axes<Variable>(&mean)},
      {"max", [](const Case& c) { return max(c.tensor(0)); }},
      {"max_axes", over_axes<Tensor>(&max)},
      {"min", [](const Case& c) { return min(c.tensor(0)); }},
      {"min_axes", over_axes<Tensor>(&min)},
      {"argmax", [](const Case& c) { return argmax(c.tensor(0), c.dim(), keep(c)); }},
      {"logsumexp", over_axes<Tensor>(&logsumexp)},
      {"sum_to", [](const Case& c) { return sum_to(c.tensor(0), c.shape("shape")); }},
  };
}

}  // namespace troupe::reference
