// User-defined operations: a value computed with tensors, and its gradient beside it.
//
//   Variable cube(const Variable& x) {
//     const Tensor value = x.value();
//     return custom_op("cube", pow(value, 3.0), {x}, [x = Saved(value)](const Tensor& gradient) {
//       return mul(gradient, mul(pow(x.get(), 2.0), 3.0));
//     });
//   }
#pragma once

#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/record.h"
#include "autograd/variable.h"

namespace troupe {

/// A tensor that `backward` needs, with its value in forward: get() throws if the tensor was written to since.
using detail::Saved;

namespace detail {

/// Maps the gradients by the results (some may be undefined) to the gradients by the inputs.
using CustomBackward = std::function<std::vector<Tensor>(std::vector<Tensor> gradients, std::span<const Edge> needed)>;

/// A CustomBackward: the backward function of an operation with several results.
template <class F>
concept BackwardOfMany = std::is_invocable_r_v<std::vector<Tensor>, F&, std::vector<Tensor>, std::span<const Edge>>;

[[nodiscard]] std::vector<Variable> custom_op(std::string_view name, std::vector<Tensor> values,
                                              std::span<const Variable> inputs, CustomBackward backward);

}  // namespace detail

/// Returns `value` as the result of operation `name` on `inputs`. The result is a constant if no input requires a
/// gradient, or under a NoGradGuard. Inputs may be undefined. `backward` maps the gradient by the result to the
/// gradients by the inputs, in one of two forms:
///   Tensor(const Tensor& gradient)                                              for one input
///   std::vector<Tensor>(const Tensor& gradient, std::span<const Edge> needed)   one per input, in their order; an
///                                                 entry may be undefined where `needed` is empty: `if (needed[1]) ...`
/// A gradient has the shape, dtype and device of its input, or is undefined. REQUIRES: `backward` holds the tensors
/// that it needs as Saved (a Variable would make the graph own itself), may run on any thread and in several passes at
/// once, and does not write to the gradient. An exception of `backward` or a wrong gradient fails the pass with a
/// BackwardError `[backward] cube: the gradient of input 0 is f64 (3), not f64 (2)`.
/// Throws TensorError `[cube] tensor is undefined`, DTypeError `[cube] only floating point values have gradients: i64`.
template <class Backward>
  requires detail::UnaryBackward<Backward> || detail::NaryBackward<Backward>
[[nodiscard]] Variable custom_op(std::string_view name, Tensor value, std::span<const Variable> inputs,
                                 Backward backward) {
  auto of_many = [backward = std::move(backward)](std::vector<Tensor> gradients,
                                                  [[maybe_unused]] std::span<const Edge> needed) {
    if constexpr (detail::UnaryBackward<Backward>) {
      return std::vector<Tensor>{backward(gradients.front())};
    } else {
      return backward(gradients.front(), needed);
    }
  };
  return detail::custom_op(name, {std::move(value)}, inputs, std::move(of_many)).front();
}
template <class Backward>
  requires detail::UnaryBackward<Backward> || detail::NaryBackward<Backward>
[[nodiscard]] Variable custom_op(std::string_view name, Tensor value, std::initializer_list<Variable> inputs,
                                 Backward backward) {
  return custom_op(name, std::move(value), std::span<const Variable>(inputs.begin(), inputs.size()),
                   std::move(backward));
}

/// As above for an operation with several results. `backward` is
///   std::vector<Tensor>(std::vector<Tensor> gradients, std::span<const Edge> needed)
/// and takes one gradient per result. Some of them, not all, may be undefined. Results that are not floating point are
/// constants.
template <detail::BackwardOfMany Backward>
[[nodiscard]] std::vector<Variable> custom_op(std::string_view name, std::vector<Tensor> values,
                                              std::span<const Variable> inputs, Backward backward) {
  return detail::custom_op(name, std::move(values), inputs, std::move(backward));
}
template <detail::BackwardOfMany Backward>
[[nodiscard]] std::vector<Variable> custom_op(std::string_view name, std::vector<Tensor> values,
                                              std::initializer_list<Variable> inputs, Backward backward) {
  return detail::custom_op(name, std::move(values), std::span<const Variable>(inputs.begin(), inputs.size()),
                           std::move(backward));
}

}  // namespace troupe
