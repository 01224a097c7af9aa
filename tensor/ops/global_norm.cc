#include "tensor/ops/global_norm.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/checks.h"

namespace troupe {

namespace {

void require_floating_together(std::span<const Tensor> xs) {
  for (const Tensor& x : xs) {
    detail::require_together("global_norm", xs.front(), x);
    if (!is_floating(x.dtype())) detail::throw_not_floating("global_norm", x.dtype());
  }
}

}  // namespace

double global_norm(std::span<const Tensor> xs, double p) {
  if (!(p > 0.0)) throw ValueError(fmt::format("[global_norm] p not above 0: {}", p));
  require_floating_together(xs);
  if (xs.empty()) return 0.0;
  if (p == std::numeric_limits<double>::infinity()) return kernels_of(xs.front()).largest_magnitude(xs);
  const double sum = kernels_of(xs.front()).sum_of_powers(xs, p);
  if (p == 1.0) return sum;
  return p == 2.0 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
}

double sum_of_squares(std::span<const Tensor> xs) {
  require_floating_together(xs);
  return xs.empty() ? 0.0 : kernels_of(xs.front()).sum_of_powers(xs, 2.0);
}

}  // namespace troupe
