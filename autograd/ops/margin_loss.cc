#include "autograd/ops/margin_loss.h"

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "tensor/decompositions/loss_formulas.h"

namespace troupe {

Variable margin_ranking_loss(const Variable& a, const Variable& b, const Tensor& target,
                             const MarginRankingLossOptions& options) {
  return detail::margin_ranking_formula(a, b, target, options);
}

Variable hinge_embedding_loss(const Variable& x, const Tensor& target, const HingeEmbeddingLossOptions& options) {
  return detail::hinge_embedding_formula(detail::as_it_is(x), target, options);
}

Variable cosine_embedding_loss(const Variable& a, const Variable& b, const Tensor& target,
                               const CosineEmbeddingLossOptions& options) {
  const auto [left, right] = detail::one_version_of(a, b);
  return detail::cosine_embedding_formula(left, right, target, options);
}

Variable triplet_margin_loss(const Variable& anchor, const Variable& positive, const Variable& negative,
                             const TripletMarginLossOptions& options) {
  const auto [from, near, far] = detail::one_version_of(anchor, positive, negative);
  return detail::triplet_margin_formula(from, near, far, options);
}

Variable soft_margin_loss(const Variable& x, const Tensor& target, Reduction reduction) {
  return detail::soft_margin_formula(x, target, reduction);
}

Variable multi_margin_loss(const Variable& x, const Tensor& target, const MultiMarginLossOptions& options) {
  return detail::multi_margin_formula(x, target, options);
}

}  // namespace troupe
