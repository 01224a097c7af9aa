#include "tensor/ops/class_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "tensor/create.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/loss.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"

namespace troupe::detail {
namespace {

/// Returns (n, classes, inner) for scores (n, classes, ...) or (classes).
Shape sizes_of(const Shape& scores) { return scores.size() == 1 ? Shape{1, scores[0], 1} : joined_around(scores, 1); }

Shape without_classes(const Shape& scores) {
  Shape shape = scores;
  shape.erase(class_dim(scores.size()));
  return shape;
}

/// Returns `target` as contiguous i64.
Tensor target_numbers(std::string_view op, const Tensor& target) {
  if (target.dtype() != DType::i64 && target.dtype() != DType::i32) {
    throw DTypeError(fmt::format("[{}] index is {}, not i64 or i32", op, name_of(target.dtype())));
  }
  return target.to(DType::i64).contiguous();
}

/// Returns the sum of the weights of all targets but the ignored ones. Throws as checked_index.
double checked_weight_of_targets(std::string_view op, const kernels::RightClasses& right, std::int64_t classes) {
  if (const std::optional<double> weight = kernels_of(right.target).weight_of_targets(right, classes)) return *weight;
  const Tensor here = right.target.to(Device::cpu());
  const auto is_outside = [&](std::int64_t t) { return t != right.ignore_index && (t < 0 || t >= classes); };
  const std::int64_t outside = *std::ranges::find_if(here.data<std::int64_t>(), is_outside);
  throw IndexError(fmt::format("[{}] index out of range: {} of {}", op, outside, classes));
}

/// Returns `weight` in the compute dtype of `scores`; undefined if `weight` is undefined.
Tensor checked_weight(std::string_view op, const Tensor& weight, std::int64_t classes, const Tensor& scores) {
  if (!weight.defined()) return weight;
  require_together(op, scores, weight);
  if (!is_floating(weight.dtype())) throw_not_floating(op, weight.dtype());
  if (weight.shape() != Shape{classes}) {
    throw ShapeError(
        fmt::format("[{}] weight does not fit: {} for {} classes", op, to_string(weight.shape()), classes));
  }
  return weight.to(compute_dtype(scores.dtype())).contiguous();
}

void require_scores(std::string_view op, const Tensor& scores, const Tensor& target, const Shape& expected) {
  if (scores.dim() > 0 && target.shape() == expected) return;
  throw ShapeError(
      fmt::format("[{}] targets do not fit: {} and {}", op, to_string(scores.shape()), to_string(target.shape())));
}

void require_smoothing(double smoothing) {
  if (smoothing >= 0.0 && smoothing <= 1.0) return;
  throw ValueError(fmt::format("[cross_entropy] label smoothing outside [0, 1]: {}", smoothing));
}

}  // namespace

ClassLoss::ClassLoss(std::string_view op, const Tensor& scores, const Tensor& target,
                     const CrossEntropyOptions& options)
    : dtype_(scores.dtype()), reduction_(options.reduction) {
  require_together(op, scores, target);
  if (!is_floating(dtype_)) throw_not_floating(op, dtype_);
  shape_ = scores.shape();
  if (scores.dim() > 0) target_shape_ = without_classes(shape_);
  require_scores(op, scores, target, target_shape_);
  require_smoothing(options.label_smoothing);
  sizes_ = sizes_of(shape_);
  right_ = {target_numbers(op, target), checked_weight(op, options.weight, sizes_[1], scores), options.ignore_index,
            options.label_smoothing};
  const double weight = checked_weight_of_targets(op, right_, sizes_[1]);
  if (reduction_ == Reduction::mean) divisor_ = weight;
}

/// REQUIRES: `losses` are f64.
Tensor ClassLoss::reduced(const Tensor& losses) const {
  if (reduction_ == Reduction::none) return losses.view(target_shape_).to(dtype_);
  return div(sum(losses), divisor_).to(dtype_);
}

/// Returns the gradient of each row's loss, (rows) in f64, from the gradient of the result.
Tensor ClassLoss::grad_of_rows(const Tensor& grad) const {
  const Shape expected = reduction_ == Reduction::none ? target_shape_ : Shape{};
  if (grad.shape() != expected) {
    throw ShapeError(fmt::format("[nll_loss_backward] gradient does not fit: {} for {}", to_string(grad.shape()),
                                 to_string(expected)));
  }
  const Shape rows{right_.target.numel()};
  const Tensor each = grad.to(DType::f64);
  if (reduction_ == Reduction::none) return each.contiguous().view(rows);
  return div(each, divisor_).expand(rows).contiguous();
}

Tensor ClassLoss::nll(const Tensor& log_probs) const {
  Tensor losses = Tensor::empty({right_.target.numel()}, DType::f64, log_probs.device());
  kernels_of(losses).nll(losses, log_probs.to(compute_dtype(dtype_)).contiguous().view(sizes_), right_);
  return reduced(losses);
}

Tensor ClassLoss::nll_backward(const Tensor& grad) const {
  Tensor out = Tensor::empty(sizes_, compute_dtype(dtype_), grad.device());
  kernels_of(out).nll_backward(out, grad_of_rows(grad), right_);
  return out.view(shape_).to(dtype_);
}

/// Returns the logits as (n * inner, classes).
Tensor ClassLoss::as_rows(const Tensor& logits) const {
  const Tensor x = logits.to(compute_dtype(dtype_)).contiguous().view(sizes_);
  return x.transpose(1, 2).contiguous().view({right_.target.numel(), sizes_[1]});
}

ClassLoss::CrossEntropy ClassLoss::cross_entropy(const Tensor& logits) const {
  Tensor losses = zeros({right_.target.numel()}, DType::f64, logits.device());
  Tensor sums = Tensor::empty({right_.target.numel(), 2}, DType::f64, logits.device());
  if (logits.numel() > 0) kernels_of(logits).cross_entropy(losses, sums, as_rows(logits), right_);
  return {reduced(losses), sums};
}

Tensor ClassLoss::cross_entropy_backward(const Tensor& grad, const Tensor& logits, const Tensor& sums) const {
  const Tensor rows = as_rows(logits);
  Tensor out = Tensor::empty(rows.shape(), rows.dtype(), rows.device());
  if (rows.numel() > 0) kernels_of(rows).cross_entropy_backward(out, grad_of_rows(grad), rows, sums, right_);
  const Tensor in_place = out.view({sizes_[0], sizes_[2], sizes_[1]}).transpose(1, 2);
  return in_place.contiguous().view(shape_).to(dtype_);
}

Tensor weighted_probabilities(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  constexpr std::string_view kName = "cross_entropy";
  require_together(kName, logits, target);
  require_scores(kName, logits, target, logits.shape());
  require_smoothing(options.label_smoothing);
  const std::int64_t classes = sizes_of(logits.shape())[1];
  const Tensor weight = checked_weight(kName, options.weight, classes, logits);
  const DType dtype = compute_dtype(logits.dtype());
  const Tensor each = add(mul(target.to(dtype), 1.0 - options.label_smoothing),
                          options.label_smoothing / static_cast<double>(classes));
  if (!weight.defined()) return each;
  Shape beside = logits.shape();
  for (int i = 0; i < beside.size(); ++i) beside[i] = i == class_dim(beside.size()) ? classes : 1;
  return mul(each, weight.view(beside).to(dtype));
}

}  // namespace troupe::detail
