// Operations of your own: a value computed with tensors, and its gradient beside it.
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

/// A tensor that `backward` needs, as it was in forward: get() throws if somebody has written into it since.
using detail::Saved;

namespace detail {

/// Gradients by the results (some may be undefined) -> gradients by the inputs.
using CustomBackward = std::function<std::vector<Tensor>(std::vector<Tensor> gradients, std::span<const Edge> needed)>;

/// Such a function, of operations with several results.
template <class F>
concept BackwardOfMany = std::is_invocable_r_v<std::vector<Tensor>, F&, std::vector<Tensor>, std::span<const Edge>>;

[[nodiscard]] std::vector<Variable> custom_op(std::string_view name, std::vector<Tensor> values,
                                              std::span<const Variable> inputs, CustomBackward backward);

}  // namespace detail

/// Returns `value` as the result of operation `name` on `inputs`: a constant if none of them requires a gradient or a
/// NoGradGuard is there. `inputs` may have undefined ones. `backward` takes the gradient by the result and gives those
/// by the inputs, in one of two forms:
///   Tensor(const Tensor& gradient)                                              for one input
///   std::vector<Tensor>(const Tensor& gradient, std::span<const Edge> needed)   one per input, in their order; it may
///                                                 leave undefined what needs no gradient: `if (needed[1]) ...`
/// A gradient has the shape, dtype and device of its input, or is undefined. `backward` keeps the tensors it needs as
/// Saved (not as Variables: the graph would hold itself), runs on any thread, several passes at once, and must not
/// write into the gradient. Its exceptions and wrong gradients fail the pass with a BackwardError: `[backward] cube:
/// the gradient of input 0 is f64 (3), not f64 (2)`.
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

/// The same of an operation with several results: `backward` is
///   std::vector<Tensor>(std::vector<Tensor> gradients, std::span<const Edge> needed)
/// and takes a gradient per result, of which some, not all, may be undefined. Results that are not floating point are
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
