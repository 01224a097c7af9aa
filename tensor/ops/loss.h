// Losses. Rules as in ops.h; dtypes are floating and promoted; sums run in f64.
#pragma once

#include <concepts>
#include <cstdint>

#include "tensor/tensor.h"

namespace troupe {

/// The reduction of the element losses: none, their sum, or their mean (NaN without elements).
enum class Reduction : std::uint8_t { none, sum, mean };

// Losses of classes. Shapes: scores (n, classes, ...) and target (n, ...), or (classes) and (); target is i64 or i32.
// Without reduction the result has the shape of the target. Mean divides by the sum of the target classes' weights.
// Throws ShapeError `[nll_loss] targets do not fit: (8, 10) and (7)`, `[nll_loss] weight does not fit: (3) for 10
// classes`, IndexError `[nll_loss] index out of range: 10 of 10`.

/// Class weights and reduction of nll_loss.
struct NllLossOptions {
  Tensor weight{};                   ///< weight of each class, (classes); undefined: 1
  std::int64_t ignore_index = -100;  ///< rows with this target add nothing
  Reduction reduction = Reduction::mean;
};

/// Negative log-likelihood: -weight[target] * log_probs[target].
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, const NllLossOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Tensor nll_loss(const Tensor& log_probs, const Tensor& target, R reduction) {
  return nll_loss(log_probs, target, NllLossOptions{.reduction = reduction});
}

/// Class weights, reduction and smoothing of cross_entropy.
struct CrossEntropyOptions {
  Tensor weight{};                   ///< weight of each class, (classes); undefined: 1
  std::int64_t ignore_index = -100;  ///< rows with this target add nothing
  Reduction reduction = Reduction::mean;
  double label_smoothing = 0.0;  ///< share of the target probability that is spread evenly over all classes
};

/// nll_loss of log_softmax(logits), in one pass.
/// A floating `target` of the shape of `logits` gives the target probability of each class. Then ignore_index has no
/// effect, and mean divides by the number of rows: n times the sizes after the classes.
/// Throws ValueError `[cross_entropy] label smoothing outside [0, 1]: 1.5`.
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
template <std::same_as<Reduction> R>  // not deduced from {}, which means options
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& target, R reduction) {
  return cross_entropy(logits, target, CrossEntropyOptions{.reduction = reduction});
}

// Losses of pairs of elements; x and y have equal shapes, d = x - y.
// Throws ShapeError `[mse_loss] shapes differ: (2) and (3)`.

/// d^2
[[nodiscard]] Tensor mse_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);
/// |d|
[[nodiscard]] Tensor l1_loss(const Tensor& x, const Tensor& y, Reduction reduction = Reduction::mean);

/// The |d| from which smooth_l1_loss is linear.
struct SmoothL1LossOptions {
  double beta = 1.0;  ///< 0: l1_loss, with the gradient 0 where d is 0 (PyTorch: that of -1)
  Reduction reduction = Reduction::mean;
};
/// d^2 / (2 beta) where |d| < beta, else |d| - beta / 2. Throws ValueError `[smooth_l1_loss] beta below 0: -1`.
[[nodiscard]] Tensor smooth_l1_loss(const Tensor& x, const Tensor& y, const SmoothL1LossOptions& options = {});

/// The |d| from which huber_loss is linear.
struct HuberLossOptions {
  double delta = 1.0;
  Reduction reduction = Reduction::mean;
};
/// d^2 / 2 where |d| < delta, else delta (|d| - delta / 2). Throws ValueError `[huber_loss] delta not above 0: 0`.
[[nodiscard]] Tensor huber_loss(const Tensor& x, const Tensor& y, const HuberLossOptions& options = {});

/// Weights and reduction of bce_loss.
struct BceLossOptions {
  Tensor weight{};  ///< weight of each element; broadcasts
  Reduction reduction = Reduction::mean;
};
/// -(y log(x) + (1 - y) log(1 - x)) for probabilities `x` and `y`; each logarithm is at least -100.
/// Throws ValueError `[bce_loss] not a probability: 1.5`,
/// ShapeError `[bce_loss] weight does not fit: (3) for (2, 2)`.
[[nodiscard]] Tensor bce_loss(const Tensor& x, const Tensor& y, const BceLossOptions& options = {});

/// Weights and reduction of bce_with_logits.
struct BceWithLogitsOptions {
  Tensor weight{};      ///< weight of each element; broadcasts
  Tensor pos_weight{};  ///< weight of the term with y, not of that with 1 - y; broadcasts
  Reduction reduction = Reduction::mean;
};
/// bce_loss of sigmoid(x), without overflow.
[[nodiscard]] Tensor bce_with_logits(const Tensor& x, const Tensor& y, const BceWithLogitsOptions& options = {});

/// The reduction of kl_div; batchmean divides the sum by the first size, by 1 for a scalar.
enum class KlDivReduction : std::uint8_t { none, sum, mean, batchmean };

/// Form of the target and reduction of kl_div.
struct KlDivOptions {
  bool log_target = false;  ///< whether `y` holds logarithms of probabilities
  KlDivReduction reduction = KlDivReduction::mean;
};
/// y (log(y) - x), 0 where y is 0: the Kullback-Leibler divergence of log-probabilities `x` from probabilities `y`.
[[nodiscard]] Tensor kl_div(const Tensor& x, const Tensor& y, const KlDivOptions& options = {});

// Negative log-likelihoods of predicted distributions; operands broadcast.

/// Form of the input, terms and reduction of poisson_nll_loss.
struct PoissonNllLossOptions {
  bool log_input = true;  ///< whether `x` is the logarithm of the rate
  bool full = false;      ///< adds Stirling's term t log(t) - t + log(2 pi t) / 2 where t = target > 1
  double eps = 1e-8;      ///< added to x before its logarithm
  Reduction reduction = Reduction::mean;
};
/// exp(x) - target x, or x - target log(x + eps) without log_input: for counts with the predicted rate.
/// Throws ShapeError `[poisson_nll_loss] shapes do not broadcast: (2) and (3)`.
[[nodiscard]] Tensor poisson_nll_loss(const Tensor& x, const Tensor& target, const PoissonNllLossOptions& options = {});

/// Terms and reduction of gaussian_nll_loss.
struct GaussianNllLossOptions {
  bool full = false;  ///< adds log(2 pi) / 2
  double eps = 1e-6;  ///< smaller variances are raised to eps
  Reduction reduction = Reduction::mean;
};
/// (log(var) + (x - target)^2 / var) / 2, for numbers with predicted mean x and variance. `var` has the shape of x, or
/// that shape with a last dimension of size 1 or without it. Waits for a GPU.
/// Throws ShapeError `[gaussian_nll_loss] variance does not fit: (3) for (2, 2)`,
/// ValueError `[gaussian_nll_loss] a variance below 0`.
[[nodiscard]] Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                                       const GaussianNllLossOptions& options = {});

}  // namespace troupe
