// Margin losses of variables. Shapes, dtypes and errors are those of tensor/ops/margin_loss.h. A target that is a
// variable gets no gradient: throws ValueError as in autograd/ops/loss.h if it requires one.
#pragma once

#include "autograd/variable.h"
#include "tensor/ops/margin_loss.h"

namespace troupe {

[[nodiscard]] Variable margin_ranking_loss(const Variable& a, const Variable& b, const Tensor& target,
                                           const MarginRankingLossOptions& options = {});
[[nodiscard]] Variable margin_ranking_loss(const Variable& a, const Variable& b, const Variable& target,
                                           const MarginRankingLossOptions& options = {});
[[nodiscard]] Variable hinge_embedding_loss(const Variable& x, const Tensor& target,
                                            const HingeEmbeddingLossOptions& options = {});
[[nodiscard]] Variable hinge_embedding_loss(const Variable& x, const Variable& target,
                                            const HingeEmbeddingLossOptions& options = {});
[[nodiscard]] Variable cosine_embedding_loss(const Variable& a, const Variable& b, const Tensor& target,
                                             const CosineEmbeddingLossOptions& options = {});
[[nodiscard]] Variable cosine_embedding_loss(const Variable& a, const Variable& b, const Variable& target,
                                             const CosineEmbeddingLossOptions& options = {});
[[nodiscard]] Variable triplet_margin_loss(const Variable& anchor, const Variable& positive, const Variable& negative,
                                           const TripletMarginLossOptions& options = {});
[[nodiscard]] Variable soft_margin_loss(const Variable& x, const Tensor& target, Reduction reduction = Reduction::mean);
[[nodiscard]] Variable soft_margin_loss(const Variable& x, const Variable& target,
                                        Reduction reduction = Reduction::mean);
[[nodiscard]] Variable multi_margin_loss(const Variable& x, const Tensor& target,
                                         const MultiMarginLossOptions& options = {});
[[nodiscard]] Variable multi_margin_loss(const Variable& x, const Variable& target,
                                         const MultiMarginLossOptions& options = {});

}  // namespace troupe
