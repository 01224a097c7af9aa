// Losses that ask for a distance: between scores, between points, or from a limit. Rules as in ops/loss.h; where a loss
// turns to 0, its gradient is that beside 0.
#pragma once

#include "tensor/ops/loss.h"
#include "tensor/tensor.h"

namespace troupe {

/// By how much a score must be above the other.
struct MarginRankingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// max(0, -target (a - b) + margin): target 1 wants `a` above `b`, -1 the reverse. All three broadcast.
/// Throws ShapeError `[margin_ranking_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                         const MarginRankingLossOptions& options = {});

/// How far apart pairs that do not belong together must be.
struct HingeEmbeddingLossOptions {
  double margin = 1.0;
  Reduction reduction = Reduction::mean;
};
/// x where target is 1, max(0, margin - x) where it is -1; x is a distance. Both broadcast.
/// Throws ShapeError `[hinge_embedding_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target,
                                          const HingeEmbeddingLossOptions& options = {});

/// Which cosine is small enough for pairs that do not belong together.
struct CosineEmbeddingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// 1 - cos(a, b) where target is 1, max(0, cos(a, b) - margin) where it is -1.
/// Shapes: a and b (n, d), target (n); or (d) and (). Throws ShapeError `[cosine_embedding_loss] sizes differ: (2, 3), (2, 4)
/// and target (2)`.
[[nodiscard]] Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                           const CosineEmbeddingLossOptions& options = {});

/// How triplet_margin_loss measures.
struct TripletMarginLossOptions {
  double margin = 1.0;
  double p = 2.0;      ///< of the norm
  double eps = 1e-6;   ///< added to each difference
  bool swap = false;   ///< whether the negative's distance is the smaller of those from the anchor and from the positive
  Reduction reduction = Reduction::mean;
};
/// max(0, |anchor - positive| - |anchor - negative| + margin), norms along the last dimension; the three broadcast.
/// Source: Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.
/// Throws ShapeError `[triplet_margin_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginLossOptions& options = {});

/// log(1 + exp(-target x)), target 1 or -1, of the shape of x; without overflow.
/// Throws ShapeError `[soft_margin_loss] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

/// How multi_margin_loss weighs.
struct MultiMarginLossOptions {
  int p = 1;          ///< 1 or 2: the power
  double margin = 1.0;
  Tensor weight{};    ///< of each right class, (classes); undefined: 1
  Reduction reduction = Reduction::mean;
};
/// The sum of max(0, margin - x[target] + x[i])^p over all other classes i, over the number of classes; 0 at the margin
/// has no gradient. Shapes: x (n, classes), target (n), i64 or i32; or (classes) and ().
/// Throws ShapeError `[multi_margin_loss] targets do not fit: (8, 10) and (7)`, `... weight does not fit: (3) for 10 classes`,
/// IndexError `... index out of range: 10 of 10`, ValueError `... p is 3, not 1 or 2`.
[[nodiscard]] Tensor multi_margin_loss(const Tensor& x, const Tensor& target, const MultiMarginLossOptions& options = {});

}  // namespace troupe
