// What the losses of classes share, and autograd needs of them beside the result.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/kernels/class_loss.h"
#include "tensor/ops/loss.h"

namespace troupe::detail {

/// A loss of classes whose arguments fit, with nothing but what forward and backward both need.
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
  Shape target_shape_;  ///< and of the result, if it is not reduced
  DType dtype_;
  Reduction reduction_;
  double divisor_ = 1.0;  ///< of a mean
};

/// cross_entropy without reduction for a target of probabilities, checked: what each class should have, times its
/// weight.
[[nodiscard]] Tensor weighted_probabilities(const Tensor& logits, const Tensor& target,
                                            const CrossEntropyOptions& options);

/// The dimension of the classes in scores of so many dimensions.
[[nodiscard]] constexpr int class_dim(int dims) { return dims == 1 ? 0 : 1; }

}  // namespace troupe::detail
