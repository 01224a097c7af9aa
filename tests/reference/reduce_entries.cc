#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

KeepDim keep(const Case& c) { return c.flag("keep") ? KeepDim::yes : KeepDim::no; }

template <class X>
Entry over_axes(X (*op)(const X&, const Axes&, KeepDim)) {
  return [op](const Case& c) {
    if constexpr (std::is_same_v<X, Tensor>) return op(c.tensor(0), Axes(c.dims("axes")), keep(c));
    else return op(c.in(0), Axes(c.dims("axes")), keep(c));
  };
}

}  // namespace

Entries reduce_entries() {
  return {
      {"sum", [](const Case& c) { return sum(c.in(0)); }},
      {"sum_axes", over_axes<Variable>(&sum)},
      {"mean", [](const Case& c) { return mean(c.in(0)); }},
      {"mean_axes", over_axes<Variable>(&mean)},
      {"max", [](const Case& c) { return max(c.in(0)); }},
      {"max_axes", over_axes<Variable>(&max)},
      {"min", [](const Case& c) { return min(c.in(0)); }},
      {"min_axes", over_axes<Variable>(&min)},
      {"argmax", [](const Case& c) { return argmax(c.tensor(0), c.dim(), keep(c)); }},
      {"logsumexp", over_axes<Variable>(&logsumexp)},
      {"prod", [](const Case& c) { return prod(c.in(0)); }},
      {"prod_axes", over_axes<Variable>(&prod)},
      {"argmin", [](const Case& c) { return argmin(c.tensor(0), c.dim(), keep(c)); }},
      {"any_axes", over_axes<Tensor>(&any)},
      {"all_axes", over_axes<Tensor>(&all)},
      {"var", [](const Case& c) { return var(c.in(0)); }},
      {"var_axes", [](const Case& c) { return var(c.in(0), c.dims("axes"), c.number("correction"), keep(c)); }},
      {"stddev", [](const Case& c) { return stddev(c.in(0)); }},
      {"stddev_axes", [](const Case& c) { return stddev(c.in(0), c.dims("axes"), c.number("correction"), keep(c)); }},
      {"norm", [](const Case& c) { return norm(c.in(0), c.number("p"), c.dims("axes"), keep(c)); }},
      {"cumsum", [](const Case& c) { return cumsum(c.in(0), c.dim()); }},
      {"sum_to", [](const Case& c) { return sum_to(c.tensor(0), c.shape("shape")); }},
  };
}

}  // namespace troupe::reference
