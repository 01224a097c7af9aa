// Forward and backward of the losses of classes, for ops/loss.h and autograd/.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/kernels/class_loss.h"
#include "tensor/ops/loss.h"

namespace troupe::detail {

/// A loss of classes with checked arguments. Holds only the values that forward and backward both need.
class ClassLoss {
 public:
  /// Throws as nll_loss and cross_entropy say.
  ClassLoss(std::string_view op, const Tensor& scores, const Tensor& target, const CrossEntropyOptions& options);

  [[nodiscard]] Tensor nll(const Tensor& log_probs) const;
  [[nodiscard]] Tensor nll_backward(const Tensor& grad) const;

  struct CrossEntropy {
    Tensor loss;
    Tensor sums;  ///< for cross_entropy_backward
  };
  [[nodiscard]] CrossEntropy cross_entropy(const Tensor& logits) const;
  [[nodiscard]] Tensor cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& sums) const;

 private:
  [[nodiscard]] Tensor reduced(const Tensor& losses) const;
  [[nodiscard]] Tensor grad_of_rows(const Tensor& grad) const;
  [[nodiscard]] Tensor as_rows(const Tensor& logits) const;

  kernels::RightClasses right_;
  Shape shape_;         ///< of the scores
  Shape sizes_;         ///< (n, classes, inner)
  Shape target_shape_;  ///< also the shape of a result without reduction
  DType dtype_;
  Reduction reduction_;
  double divisor_ = 1.0;  ///< divides the sum if the reduction is mean
};

/// Checks the arguments of a cross_entropy with a target of probabilities and returns the target probability of each
/// class, smoothed and times the weight of the class, in the compute dtype of `logits`.
[[nodiscard]] Tensor weighted_probabilities(const Tensor& logits, const Tensor& target,
                                            const CrossEntropyOptions& options);

/// Returns the dimension of the classes in scores with `dims` dimensions.
[[nodiscard]] constexpr int class_dim(int dims) { return dims == 1 ? 0 : 1; }

}  // namespace troupe::detail
