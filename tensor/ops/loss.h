// Losses. Rules as in ops.h: floating dtypes, of which two are promoted; sums run in f64.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// What becomes of the losses: each as it is, their sum, or their mean (of none: not a number).
enum class Reduction : std::uint8_t { none, sum, mean };

// Of classes. Shapes: scores (n, classes, ...) and target (n, ...), or (classes) and (); target is i64 or i32.
// The result has the shape of the target, or none. A mean is one weighted by the weights of the right classes.
// Throws ShapeError `[nll_loss] targets do not fit: (8, 10) and (7)`, `[nll_loss] weight does not fit: (3) for 10
// classes`, IndexError `[nll_loss] index out of range: 10 of 10`.

/// How nll_loss weighs classes and what becomes of the rows.
struct NllLossOptions {
  Tensor weight{};                   ///< of each class, (classes); undefined: 1
  std::int64_t ignore_index = -100;  ///< what has this target counts nothing
  Reduction reduction = Reduction::mean;
};

/// Negative log-likelihood: -weight[target] * log_probs[target].
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const NllLossOptions& options = {});
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, Reduction reduction);

/// How cross_entropy weighs classes and what becomes of the rows.
struct CrossEntropyOptions {
  Tensor weight{};                   ///< of each class, (classes); undefined: 1
  std::int64_t ignore_index = -100;  ///< what has this target counts nothing
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0.0;  ///< the share of the probability that the target leaves to all classes, evenly
};

/// nll_loss of log_softmax: how far the probabilities that `logits` stand for are from the target, in one pass.
/// A floating `target` of the shape of `logits` has the probability that each class should have; nothing is ignored
/// then, and a mean is one over n and what follows the classes.
/// Throws ValueError `[cross_entropy] label smoothing outside [0, 1]: 1.5`.
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& target, Reduction reduction);

// Of pairs of elements, of equal shape. d = x - y.
// Throws ShapeError `[mse_loss] shapes differ: (2) and (3)`.

/// d^2
[[nodiscard]] Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);
/// |d|
[[nodiscard]] Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);

/// Where smooth_l1_loss turns linear.
struct SmoothL1LossOptions {
  double beta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2. Throws ValueError `[smooth_l1_loss] beta below 0: -1`.
[[nodiscard]] Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, const SmoothL1LossOptions& options = {});

/// Where huber_loss turns linear.
struct HuberLossOptions {
  double delta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// d^2 / 2 where |d| < delta, else delta (|d| - delta / 2). Throws ValueError `[huber_loss] delta not above 0: 0`.
[[nodiscard]] Tensor huber_loss(const Tensor& x, const Tensor& y, const HuberLossOptions& options = {});

/// How bce_loss weighs elements and what becomes of them.
struct BceLossOptions {
  Tensor weight{};  ///< of each element, broadcast to their shape
  Reduction reduction = Reduction::mean;
};
/// -(y log(x) + (1 - y) log(1 - x)) for probabilities `x` and `y`; each logarithm is at least -100.
/// Throws ValueError `[bce_loss] not a probability: 1.5`,
/// ShapeError `[bce_loss] weight does not fit: (3) for (2, 2)`.
[[nodiscard]] Tensor bce_loss(const Tensor& x, const Tensor& y, const BceLossOptions& options = {});

/// How bce_with_logits weighs elements and what becomes of them.
struct BceWithLogitsOptions {
  Tensor weight{};      ///< of each element, broadcast to their shape
  Tensor pos_weight{};  ///< of y, not of 1 - y; broadcast
  Reduction reduction = Reduction::mean;
};
/// bce_loss of sigmoid(x), without overflow.
[[nodiscard]] Tensor bce_with_logits(const Tensor& x, const Tensor& y, const BceWithLogitsOptions& options = {});

/// How kl_div becomes a result; batchmean divides the sum by the first size, or 1 if there is none.
enum class KlDivReduction : std::uint8_t { none, sum, mean, batchmean };

/// How kl_div reads `y` and what becomes of the elements.
struct KlDivOptions {
  bool log_target = false;  ///< whether `y` are logarithms of probabilities
  KlDivReduction reduction = KlDivReduction::mean;
};
/// y (log(y) - x), 0 where y is 0: what log-probabilities `x` miss of the probabilities `y`.
[[nodiscard]] Tensor kl_div(const Tensor& x, const Tensor& y, const KlDivOptions& options = {});

// Of what a distribution predicts; operands broadcast.

/// How poisson_nll_loss reads x.
struct PoissonNllLossOptions {
  bool log_input = true;  ///< whether `x` is the logarithm of the rate
  bool full = false;      ///< whether Stirling's term of the target counts, target log(target) - target + log(2 pi target) / 2 above 1
  double eps = 1e-8;      ///< added to x before its logarithm
  Reduction reduction = Reduction::mean;
};
/// exp(x) - target x, or x - target log(x + eps) without log_input: of counts that `x` predicts.
/// Throws ShapeError `[poisson_nll_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllLossOptions& options = {});

/// What gaussian_nll_loss adds.
struct GaussianNllLossOptions {
  bool full = false;  ///< whether log(2 pi) / 2 counts
  double eps = 1e-6;  ///< a variance below counts as this
  Reduction reduction = Reduction::mean;
};
/// (log(var) + (x - target)^2 / var) / 2: of numbers that are predicted with their variance. `var` has the shape of x, or one
/// number along its last dimension, which may be missing. Waits for a GPU. Throws ShapeError `[gaussian_nll_loss] variance
/// does not fit: (3) for (2, 2)`, ValueError `[gaussian_nll_loss] a variance below 0`.
[[nodiscard]] Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                                       const GaussianNllLossOptions& options = {});

}  // namespace troupe
