// Losses that demand a margin between scores or points. Rules as in ops/loss.h. At the kink where a loss reaches 0, its
// gradient is that of the nonzero side.
#pragma once

#include "tensor/ops/loss.h"
#include "tensor/tensor.h"

namespace troupe {

/// The margin by which one score must exceed the other.
struct MarginRankingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// max(0, -target (a - b) + margin): target 1 demands a > b, -1 demands a < b. All three broadcast.
/// Throws ShapeError `[margin_ranking_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor margin_ranking_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                         const MarginRankingLossOptions& options = {});

/// The distance that dissimilar pairs must have.
struct HingeEmbeddingLossOptions {
  double margin = 1.0;
  Reduction reduction = Reduction::mean;
};
/// x where target is 1, max(0, margin - x) where it is -1; x is a distance. Both broadcast.
/// Throws ShapeError `[hinge_embedding_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor hinge_embedding_loss(const Tensor& x, const Tensor& target,
                                          const HingeEmbeddingLossOptions& options = {});

/// The largest cosine of dissimilar pairs that costs nothing.
struct CosineEmbeddingLossOptions {
  double margin = 0.0;
  Reduction reduction = Reduction::mean;
};
/// 1 - cos(a, b) where target is 1, max(0, cos(a, b) - margin) where it is -1.
/// Shapes: a and b (n, d), target (n); or (d) and (). Throws ShapeError `[cosine_embedding_loss] sizes differ: (2, 3),
/// (2, 4) and target (2)`.
[[nodiscard]] Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                                           const CosineEmbeddingLossOptions& options = {});

/// Margin, norm and reduction of triplet_margin_loss.
struct TripletMarginLossOptions {
  double margin = 1.0;
  double p = 2.0;     ///< exponent of the norm
  double eps = 1e-6;  ///< added to each difference
  bool swap = false;  ///< whether the negative's distance is the smaller of its distances to anchor and positive
  Reduction reduction = Reduction::mean;
};
/// max(0, |anchor - positive| - |anchor - negative| + margin), norms along the last dimension; the three broadcast.
/// Source: Balntas et al., "Learning shallow convolutional feature descriptors with triplet losses", 2016.
/// Throws ShapeError `[triplet_margin_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                                         const TripletMarginLossOptions& options = {});

/// log(1 + exp(-target x)) without overflow. `target` is 1 or -1 and has the shape of x.
/// Throws ShapeError `[soft_margin_loss] shapes differ: (2) and (3)`.
[[nodiscard]] Tensor soft_margin_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

/// Power, margin, class weights and reduction of multi_margin_loss.
struct MultiMarginLossOptions {
  int p = 1;  ///< the power: 1 or 2
  double margin = 1.0;
  Tensor weight{};  ///< weight of each target class, (classes); undefined: 1
  Reduction reduction = Reduction::mean;
};
/// The sum of max(0, margin - x[target] + x[i])^p over all classes i other than the target, divided by the number of
/// classes. The gradient at the kink is 0. Shapes: x (n, classes), target (n), i64 or i32; or (classes) and () or (1).
/// Without reduction the result has the shape of the target.
/// Throws ShapeError `[multi_margin_loss] targets do not fit: (8, 10) and (7)`,
/// `... weight does not fit: (3) for 10 classes`, IndexError `... index out of range: 10 of 10`, ValueError
/// `... p is 3, not 1 or 2`.
[[nodiscard]] Tensor multi_margin_loss(const Tensor& x, const Tensor& target,
                                       const MultiMarginLossOptions& options = {});

}  // namespace troupe
