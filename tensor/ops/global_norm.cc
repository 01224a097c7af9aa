#include "tensor/ops/global_norm.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"

namespace troupe {

double global_norm(std::span<const Tensor> xs, double p) {
  if (!(p > 0.0)) throw ValueError(fmt::format("[global_norm] p not above 0: {}", p));
  for (const Tensor& x : xs) {
    detail::require_together("global_norm", xs.front(), x);
    if (!is_floating(x.dtype())) detail::throw_not_floating("global_norm", x.dtype());
  }
  if (xs.empty()) return 0.0;
  if (p == std::numeric_limits<double>::infinity()) return kernels_of(xs.front()).largest_magnitude(xs);
  const double sum = kernels_of(xs.front()).sum_of_powers(xs, p);
  if (p == 1.0) return sum;
  return p == 2.0 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
}

}  // namespace troupe
