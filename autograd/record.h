// Records an operation in the graph: its forward value together with its backward function.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"
#include "tensor/tensor.h"

namespace troupe::detail {

/// Shape and dtype of an input, for a backward that does not need its value.
struct Layout {
  Shape shape;
  DType dtype;
  explicit Layout(const Tensor& tensor) : shape(tensor.shape()), dtype(tensor.dtype()) {}
};

/// Reduces the gradient by a broadcast and promoted `input` to the shape and dtype of the input itself.
[[nodiscard]] Tensor reduce_to(const Layout& input, const Tensor& gradient);

/// A tensor saved for backward, with its version counter at that time.
class Saved {
 public:
  Saved() = default;
  explicit Saved(Tensor value) : value_(std::move(value)), version_(value_.defined() ? value_.version() : 0) {}

  /// Throws std::logic_error if the tensor was written to since. The pass prepends the operation's name:
  /// `[backward] mul: a value that it saved, f64 (2), was written to afterwards: version 1, saved at version 0`.
  [[nodiscard]] const Tensor& get() const;

 private:
  Tensor value_;
  std::uint64_t version_ = 0;
};

/// Saves `value` if the gradient of `of` may be needed, else nothing: a tensor for an unneeded gradient is not kept
/// alive.
[[nodiscard]] Saved saved_for(const Variable& of, const Tensor& value);

/// Returns the value of an input that may be left out: an undefined Tensor then.
[[nodiscard]] Tensor value_or_undefined(const Variable& input);

/// Returns the value of an input to which operation `name` gives no gradient: its target. Throws ValueError
/// `[soft_margin_loss] the target requires a gradient, which this operation does not give: pass target.detach()`,
/// unless recording is off.
[[nodiscard]] Tensor value_of_target(std::string_view name, const Variable& target);

/// Returns the present values of `inputs`. A variable given twice is read once: a set_value() of another thread cannot
/// put two values of one variable into an operation.
[[nodiscard]] std::vector<Tensor> values_of(std::span<const Variable> inputs);
template <std::same_as<Variable>... Inputs>
[[nodiscard]] std::array<Tensor, sizeof...(Inputs)> values_of(const Inputs&... inputs) {
  const std::array<const Variable*, sizeof...(Inputs)> all{&inputs...};
  std::array<Tensor, sizeof...(Inputs)> values;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t first = 0;
    while (!same(*all[first], *all[i])) ++first;
    values[i] = first < i ? values[first] : all[i]->value();
  }
  return values;
}

/// Returns one edge per input, empty for an undefined input or one without gradient. Returns no edges if no input
/// requires a gradient or recording is off.
[[nodiscard]] std::vector<Edge> edges_of(std::initializer_list<const Variable*> inputs);
[[nodiscard]] std::vector<Edge> edges_of(std::span<const Variable> inputs);

/// Backward of an operation with one input: maps gradient to gradient.
template <class F>
concept UnaryBackward = std::is_invocable_r_v<Tensor, const F&, const Tensor&>;

/// Backward of an operation with several inputs. An empty edge marks a gradient that is not needed.
template <class F>
concept NaryBackward = std::is_invocable_r_v<std::vector<Tensor>, const F&, const Tensor&, std::span<const Edge>>;

/// The vertex of an operation with one output.
template <class Backward>
class OperationFn final : public GradFn {
 public:
  OperationFn(std::string_view name, std::vector<Edge> inputs, Backward backward)
      : GradFn(name, VertexKind::operation, std::move(inputs), 1, Work::of_inputs), backward_(std::move(backward)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override {
    return apply_to(std::move(gradients), next());
  }

  [[nodiscard]] std::vector<Tensor> apply_to(std::vector<Tensor> gradients,
                                             std::span<const Edge> needed) const override {
    if constexpr (UnaryBackward<Backward>) {
      return {(*backward_)(gradients.front())};
    } else {
      return (*backward_)(gradients.front(), needed);
    }
  }

 protected:
  void drop_saved() const noexcept override { backward_.reset(); }

 private:
  mutable std::optional<Backward> backward_;
};

/// Returns `value` as the result of operation `name` with a new vertex, or as a constant if `inputs` is empty.
/// REQUIRES: `backward` captures only Saved values and Layouts, and may run on any thread and in several passes at
/// once. It runs at most once per pass and is destroyed when a pass releases the vertex.
template <class Backward>
  requires UnaryBackward<Backward> || NaryBackward<Backward>
[[nodiscard]] Variable record(std::string_view name, Tensor value, std::vector<Edge> inputs, Backward backward) {
  if (inputs.empty()) return Variable(std::move(value));
  auto fn = std::make_shared<const OperationFn<Backward>>(name, std::move(inputs), std::move(backward));
  return Variable::output_of({std::move(fn), 0}, std::move(value));
}

/// Backward of an operation with one input and several outputs: maps one gradient per output, some undefined, to one
/// gradient.
template <class F>
concept PartsBackward = std::is_invocable_r_v<Tensor, const F&, std::vector<Tensor>>;

/// The vertex of an operation with several outputs.
template <PartsBackward Backward>
class PartsFn final : public GradFn {
 public:
  PartsFn(std::string_view name, std::vector<Edge> inputs, std::uint32_t outputs, Backward backward)
      : GradFn(name, VertexKind::operation, std::move(inputs), outputs, Work::of_inputs),
        backward_(std::move(backward)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override {
    return {(*backward_)(std::move(gradients))};
  }

 protected:
  void drop_saved() const noexcept override { backward_.reset(); }

 private:
  mutable std::optional<Backward> backward_;
};

/// As record(), for an operation with several outputs.
template <PartsBackward Backward>
[[nodiscard]] std::vector<Variable> record_parts(std::string_view name, std::vector<Tensor> values,
                                                 std::vector<Edge> inputs, Backward backward) {
  std::vector<Variable> outputs;
  outputs.reserve(values.size());
  if (inputs.empty()) {
    for (Tensor& value : values) outputs.emplace_back(std::move(value));
    return outputs;
  }
  const auto count = static_cast<std::uint32_t>(values.size());
  const auto fn = std::make_shared<const PartsFn<Backward>>(name, std::move(inputs), count, std::move(backward));
  for (std::uint32_t slot = 0; slot < count; ++slot)
    outputs.push_back(Variable::output_of({fn, slot}, std::move(values[slot])));
  return outputs;
}

}  // namespace troupe::detail
