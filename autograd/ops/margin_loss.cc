#include "autograd/ops/margin_loss.h"

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
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

Variable margin_ranking_loss(const Variable& a, const Variable& b, const Variable& target,
                             const MarginRankingLossOptions& options) {
  return margin_ranking_loss(a, b, detail::value_of_target("margin_ranking_loss", target), options);
}
Variable hinge_embedding_loss(const Variable& x, const Variable& target, const HingeEmbeddingLossOptions& options) {
  return hinge_embedding_loss(x, detail::value_of_target("hinge_embedding_loss", target), options);
}
Variable cosine_embedding_loss(const Variable& a, const Variable& b, const Variable& target,
                               const CosineEmbeddingLossOptions& options) {
  return cosine_embedding_loss(a, b, detail::value_of_target("cosine_embedding_loss", target), options);
}
Variable soft_margin_loss(const Variable& x, const Variable& target, Reduction reduction) {
  return soft_margin_loss(x, detail::value_of_target("soft_margin_loss", target), reduction);
}
Variable multi_margin_loss(const Variable& x, const Variable& target, const MultiMarginLossOptions& options) {
  return multi_margin_loss(x, detail::value_of_target("multi_margin_loss", target), options);
}

}  // namespace troupe
