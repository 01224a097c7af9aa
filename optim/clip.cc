#include "optim/clip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tensor/ops/global_norm.h"

namespace troupe::optim {

double detail::norm_of(const std::vector<Tensor>& tensors, double p) { return troupe::global_norm(tensors, p); }

double clip_scale(double norm, double max_norm) {
  if (!(max_norm > 0.0)) throw ValueError(fmt::format("[clip_scale] max_norm is not a number above 0: {}", max_norm));
  if (!std::isfinite(norm)) throw ValueError(fmt::format("[clip_scale] the norm is not finite: {}", norm));
  return std::min(1.0, max_norm / (norm + 1e-6));
}

}  // namespace troupe::optim
