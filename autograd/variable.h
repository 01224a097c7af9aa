// A value that gradients can be asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "autograd/grad_fn.h"
#include "autograd/hooks.h"
#include "tensor/tensor.h"

namespace troupe {

enum class RequiresGrad : std::uint8_t { no, yes };

/// Handle of one place in the autograd graph. Copies are the same variable, in this process and wherever gradients are
/// asked for: `gradients.of(w)` goes by identity, not by value. There is no gradient in it.
/// Safe to use from any thread; set_value() may run while others read.
class Variable {
 public:
  /// An undefined variable: no value, no identity. Everything but defined(), id(), same() and
  /// assignment throws TensorError `[value] variable is undefined`.
  Variable() = default;

  /// A leaf: a parameter (`RequiresGrad::yes`) or a constant. A Tensor converts to a constant.
  /// Throws DTypeError `[Variable] only floating point values have gradients: i64` if a gradient is wanted,
  /// TensorError `[Variable] tensor is undefined` if `value` is.
  Variable(Tensor value, RequiresGrad requires_grad = RequiresGrad::no);

  [[nodiscard]] bool defined() const noexcept { return state_ != nullptr; }

  /// The current value. What was read stays as it is: set_value() does not touch it.
  [[nodiscard]] Tensor value() const;

  /// Gives a leaf another value of the same shape, dtype and device. Values read before, also those that a graph
  /// saved, keep the old one. The identity stays.
  /// Throws TensorError if this is not a leaf, ShapeError if `value` does not fit.
  void set_value(Tensor value) const;

  /// As set_value(), but dtype and device may be others: for a model that moves. Graphs recorded before give gradients
  /// of the dtype and on the device that they saw.
  /// Throws DTypeError `[convert_value] only floating point values have gradients: i64` if this requires one.
  void convert_value(Tensor value) const;

  [[nodiscard]] Shape shape() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  [[nodiscard]] int dim() const { return shape().size(); }
  /// Returns the size along `dim`; -1 is the last dimension.
  [[nodiscard]] std::int64_t size(int dim) const;
  [[nodiscard]] std::int64_t numel() const;

  /// Returns the only element of the value. Throws ShapeError `[item] not one element: (2, 3)`.
  template <Element T = double>
  [[nodiscard]] T item() const {
    return value().item<T>();
  }

  // Operations that Tensor has as members, with gradients; autograd/ops.h has the others. Defined in ops/shape.cc.

  /// The same elements in another shape, never copied. Throws as Tensor::view.
  [[nodiscard]] Variable view(const Shape& shape) const;
  [[nodiscard]] Variable slice(int dim, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
                               std::int64_t step = 1) const;
  [[nodiscard]] Variable select(int dim, std::int64_t index) const;
  /// select(0, index): of a matrix the row.
  [[nodiscard]] Variable operator[](std::int64_t index) const { return select(0, index); }
  /// The same value in memory of its own. Another place in the graph: its gradient goes on to this variable.
  [[nodiscard]] Variable clone() const;

  [[nodiscard]] bool requires_grad() const;

  /// Makes a leaf a constant or a parameter. Graphs recorded before keep their edges: a pass over them finds its
  /// gradient. Threads: requires_grad() may be asked meanwhile, but no operation may use the variable. Throws
  /// TensorError if this is not a leaf, DTypeError as the constructor.
  void set_requires_grad(RequiresGrad requires_grad) const;

  /// Made by the user, not by an operation on variables that require a gradient.
  [[nodiscard]] bool is_leaf() const;

  /// A constant with the same value, cut off from the graph.
  [[nodiscard]] Variable detach() const;

  /// Has `hook(gradient)` called with the gradient of this variable, summed, in every pass that marks it from now on:
  /// once per pass, on the thread that runs it, before the gradient goes further; not if there is no gradient. What
  /// the hook returns, of the same shape, dtype and device, takes the gradient's place; it may return nothing or an
  /// undefined tensor. Several run in the order of their registration, each with what the one before it left.
  /// A hook must not write into the gradient, and not hold this variable or one computed from it: neither would ever
  /// be freed. Several passes at once call it at once. What it throws fails the pass with a BackwardError
  /// `[backward] hook on mul: ...`.
  /// Throws TensorError `[register_hook] the variable requires no gradient`.
  template <class F>
    requires std::is_invocable_v<F&, const Tensor&>
  HookHandle register_hook(F hook) const {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, const Tensor&>>) {
      return add_gradient_hook([hook = std::move(hook)](const Tensor& gradient) mutable {
        hook(gradient);
        return Tensor();
      });
    } else {
      return add_gradient_hook(std::move(hook));
    }
  }

  /// Has `hook(leaf, gradient)` called as soon as the gradient of this leaf is final in a pass that returns it, after
  /// the hooks above; this is where a reducer over replicas sends it off. `gradient` is what the pass returns: it
  /// belongs to the pass's caller, and a hook that has the caller's consent may write into it, also later.
  /// Otherwise as register_hook(). Throws TensorError `[register_post_accumulate_grad_hook] not a leaf that requires a
  /// gradient`.
  HookHandle register_post_accumulate_grad_hook(detail::LeafHook hook) const;

  /// Where this variable's gradient goes; empty if it requires none.
  [[nodiscard]] Edge gradient_edge() const;

  /// The identity, for maps; null if undefined. Unique among the variables that are alive.
  [[nodiscard]] const void* id() const noexcept { return state_.get(); }

  friend bool same(const Variable& a, const Variable& b) noexcept { return a.state_ == b.state_; }

  /// Output `edge.slot` of vertex `edge.fn`; requires a gradient. For operations; users have no need of it.
  [[nodiscard]] static Variable output_of(Edge edge, Tensor value);

 private:
  friend class LeafFn;
  struct State;
  explicit Variable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] State& state(const char* operation) const;
  HookHandle add_gradient_hook(detail::GradientHook hook) const;

  /// Which dtype and device a new value may have.
  enum class Kind : std::uint8_t { same, any };
  void assign(const char* operation, Tensor value, Kind kind) const;

  std::shared_ptr<State> state_;
};

/// Operations of this thread record no graph during the guard's life.
class NoGradGuard {
 public:
  NoGradGuard() noexcept;
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool enabled_before_;
};

/// Operations of this thread record a graph again during the guard's life, also inside a NoGradGuard.
class EnableGradGuard {
 public:
  EnableGradGuard() noexcept;
  ~EnableGradGuard();
  EnableGradGuard(const EnableGradGuard&) = delete;
  EnableGradGuard& operator=(const EnableGradGuard&) = delete;

 private:
  bool enabled_before_;
};

/// Whether operations of this thread record a graph. True unless the innermost guard is a NoGradGuard.
[[nodiscard]] bool grad_enabled() noexcept;

}  // namespace troupe
