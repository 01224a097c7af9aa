#include "tensor/ops/margin_loss.h"

#include "tensor/decompositions/loss_formulas.h"

namespace troupe {

Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                           const MarginRankingLossOptions& options) {
  return detail::margin_ranking_formula(a, b, target, options);
}

Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target, const HingeEmbeddingLossOptions& options) {
  return detail::hinge_embedding_formula(x, target, options);
}

Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             const CosineEmbeddingLossOptions& options) {
  return detail::cosine_embedding_formula(a, b, target, options);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginLossOptions& options) {
  return detail::triplet_margin_formula(anchor, positive, negative, options);
}

Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction) {
  return detail::soft_margin_formula(x, target, reduction);
}

Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginLossOptions& options) {
  return detail::multi_margin_formula(x, target, options);
}

}  // namespace troupe
