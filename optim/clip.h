// Clipping of gradients: their global norm, and the factor that limits it. Gradients are shared and never written; the
// step applies the factor, or a limit for each element (StepOptions).
//
//   const double norm = optim::global_norm(gradients);
//   optimizer.step(gradients, {.gradient_scale = optim::clip_scale(norm, 1.0)});  // by global norm
//   optimizer.step(gradients, {.gradient_limit = 0.5});                           // by value
#pragma once

#include <vector>

#include "optim/parameter.h"
#include "tensor/tensor.h"

namespace troupe::optim {

namespace detail {
[[nodiscard]] double norm_of(const std::vector<Tensor>& tensors, double p);
}  // namespace detail

/// Returns the norm of all gradients taken as one vector: (sum |g|^p)^(1/p), or the largest |g| if `p` is infinite.
/// Reads each gradient once and sums in f64. Not finite if an element is not. Of a sparse gradient only its rows are
/// read; entries of the same row are summed first. Throws as troupe::global_norm().
template <TensorsByParameter Gradients>
[[nodiscard]] double global_norm(const Gradients& gradients, double p = 2.0) {
  std::vector<Tensor> tensors;
  if constexpr (RowsByParameter<Gradients>) {
    for (const auto& parameter : gradients.leaves()) {
      const SparseTensor rows = gradients.sparse_of(parameter);
      tensors.push_back(rows.defined() ? rows.values() : gradients.of(parameter));
    }
  } else {
    for (const auto& [parameter, gradient] : gradients) tensors.push_back(gradient);
  }
  return detail::norm_of(tensors, p);
}

/// Returns the factor that limits gradients of this norm to `max_norm`: max_norm / (norm + 1e-6), at most 1, as
/// torch.nn.utils.clip_grad_norm_. Throws ValueError `[clip_scale] the norm is not finite: nan`, so that no step uses
/// such gradients, or `[clip_scale] max_norm is not a number above 0: -1`.
[[nodiscard]] double clip_scale(double norm, double max_norm);

}  // namespace troupe::optim
