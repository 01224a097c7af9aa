#include "tensor/global_norm.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tensor/cpu/global_norm.h"
#include "tensor/error.h"

namespace troupe {

double global_norm(std::span<const Tensor> xs, double p) {
  if (!(p > 0.0)) throw ValueError(fmt::format("[global_norm] p not above 0: {}", p));
  for (const Tensor& x : xs) {
    x.require_defined("global_norm");
    if (!is_floating(x.dtype())) detail::throw_not_floating("global_norm", x.dtype());
  }
  if (p == std::numeric_limits<double>::infinity()) return cpu::largest_magnitude(xs);
  const double sum = cpu::sum_of_powers(xs, p);
  if (p == 1.0) return sum;
  return p == 2.0 ? std::sqrt(sum) : std::pow(sum, 1.0 / p);
}

}  // namespace troupe
