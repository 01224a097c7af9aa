#include "autograd/ops/norm.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

/// Returns input `i`, or an undefined variable.
Variable in_or_none(const Case& c, std::size_t i) { return i < c.inputs().size() ? c.in(i) : Variable(); }

Computed batch_norm_of(const Case& c) {
  BatchNormOptions options{.momentum = c.number_or("momentum", 0.1), .eps = c.number_or("eps", 1e-5)};
  if (!c.flag("training")) options.statistics = NormStatistics::running;
  const BatchNormVariable result =
      batch_norm(c.in(0), {c.tensor(1), c.tensor(2)}, in_or_none(c, 3), in_or_none(c, 4), options);
  return std::vector<Variable>{result.output, result.running.mean, result.running.var};
}

}  // namespace

Entries norm_entries() {
  return {
      {"batch_norm", batch_norm_of},
      {"layer_norm",
       [](const Case& c) {
         return layer_norm(c.in(0), c.shape("normalized_shape"), in_or_none(c, 1), in_or_none(c, 2), c.number("eps"));
       }},
      {"group_norm",
       [](const Case& c) {
         return group_norm(c.in(0), c.integer("num_groups"), in_or_none(c, 1), in_or_none(c, 2), c.number("eps"));
       }},
      {"instance_norm",
       [](const Case& c) { return instance_norm(c.in(0), in_or_none(c, 1), in_or_none(c, 2), c.number("eps")); }},
  };
}

}  // namespace troupe::reference
