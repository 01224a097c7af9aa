// A tensor that may take part in the autograd graph.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "autograd/grad_fn.h"
#include "autograd/hooks.h"
#include "tensor/tensor.h"

namespace troupe {

/// Whether backward passes compute a variable's gradient.
enum class RequiresGrad : std::uint8_t { no, yes };

/// A handle of one place in the autograd graph: copies are the same variable. `gradients.of(w)` finds the gradient of a
/// variable by its identity; the variable itself stores none. Thread-safe; set_value() may run while other threads
/// read.
class Variable {
 public:
  /// An undefined variable: no value, no identity. Every function but defined(), id(), same() and assignment throws
  /// TensorError `[value] variable is undefined`.
  Variable() = default;

  /// Makes a leaf: a parameter (`RequiresGrad::yes`) or a constant. A Tensor converts to a constant.
  /// Throws TensorError `[Variable] tensor is undefined`, and for a parameter DTypeError
  /// `[Variable] only floating point values have gradients: i64`.
  Variable(Tensor value, RequiresGrad requires_grad = RequiresGrad::no);

  [[nodiscard]] bool defined() const noexcept { return state_ != nullptr; }

  /// Returns the current value. A later set_value() does not change the returned tensor.
  [[nodiscard]] Tensor value() const;

  /// Replaces the value of a leaf by one of the same shape, dtype and device. Tensors read earlier, also those that a
  /// graph saved, keep the old value. The identity does not change.
  /// Throws TensorError if this is not a leaf, ShapeError if `value` does not fit.
  void set_value(Tensor value) const;

  /// As set_value(), but dtype and device may differ: for a model that moves to another device or precision. Graphs
  /// recorded earlier return gradients of the dtype and on the device that the value had then.
  /// Throws DTypeError `[convert_value] only floating point values have gradients: i64` if this requires a gradient.
  void convert_value(Tensor value) const;

  [[nodiscard]] Shape shape() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  [[nodiscard]] int dim() const { return shape().size(); }
  /// Returns the size along `dim`; -1 is the last dimension. Throws as Tensor::size.
  [[nodiscard]] std::int64_t size(int dim) const;
  [[nodiscard]] std::int64_t numel() const;

  /// Returns the only element of the value. Throws ShapeError `[item] not one element: (2, 3)`.
  template <Element T = double>
  [[nodiscard]] T item() const {
    return value().item<T>();
  }

  // The operations that are members of Tensor, with gradients; shapes and errors as there. autograd/ops.h has the
  // others. Defined in ops/shape.cc.

  /// Returns the same elements in another shape, never a copy. Throws as Tensor::view.
  [[nodiscard]] Variable view(const Shape& shape) const;
  [[nodiscard]] Variable slice(int dim, std::int64_t begin, std::int64_t end = std::numeric_limits<std::int64_t>::max(),
                               std::int64_t step = 1) const;
  [[nodiscard]] Variable select(int dim, std::int64_t index) const;
  /// Returns select(0, index): row `index` of a matrix.
  [[nodiscard]] Variable operator[](std::int64_t index) const { return select(0, index); }
  [[nodiscard]] Variable reshape(const Shape& shape) const;
  [[nodiscard]] Variable transpose(int dim0 = -2, int dim1 = -1) const;
  [[nodiscard]] Variable permute(std::initializer_list<int> dims) const;
  [[nodiscard]] Variable squeeze(int dim) const;
  [[nodiscard]] Variable unsqueeze(int dim) const;
  [[nodiscard]] Variable expand(const Shape& shape) const;
  /// Returns a copy of the value as a new variable. Its gradient passes on to this variable.
  [[nodiscard]] Variable clone() const;
  /// Returns the value on `device`; this variable if it is there already. The gradient returns to this one's device.
  /// Throws as Tensor::to.
  [[nodiscard]] Variable to(Device device) const;
  /// Returns the value in another dtype, as cast().
  [[nodiscard]] Variable to(DType dtype) const;

  [[nodiscard]] bool requires_grad() const;

  /// Turns a leaf into a constant (`no`) or a parameter (`yes`). Graphs recorded earlier do not change: a pass over
  /// them still finds the gradient of this leaf. Threads: requires_grad() may run at the same time, operations on the
  /// variable may not. Throws TensorError if this is not a leaf, DTypeError as the constructor.
  void set_requires_grad(RequiresGrad requires_grad) const;

  /// Returns true unless the variable is the result of an operation on variables that require a gradient, or was
  /// received from another node with a gradient.
  [[nodiscard]] bool is_leaf() const;

  /// Returns a constant with the same value, detached from the graph.
  [[nodiscard]] Variable detach() const;

  /// Registers `hook(gradient)` for every pass that marks this variable from now on. The pass calls the hook at most
  /// once, with the summed gradient of this variable, on the pass's thread and before it passes the gradient on.
  /// Without a gradient the hook is not called. A defined tensor that the hook returns replaces the gradient and must
  /// have its shape, dtype and device; the hook may also return nothing. Hooks run in the order of registration; each
  /// takes the result of the previous one.
  /// REQUIRES: the hook does not write to the gradient, is safe to call from several passes at once, and does not hold
  /// this variable or a result of it (neither would ever be freed). An exception of the hook fails the pass with a
  /// BackwardError `[backward] hook on mul: ...`.
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

  /// Registers `hook(leaf, gradient)`, which a pass calls as soon as the gradient of this leaf is final, after the
  /// hooks of register_hook(), for example to send the gradient to other replicas. `gradient` is the tensor that the
  /// pass returns to its caller. If the caller agrees, the hook may write to it, also after the hook has returned.
  /// Otherwise as register_hook(). Throws TensorError `[register_post_accumulate_grad_hook] not a leaf that requires a
  /// gradient`.
  HookHandle register_post_accumulate_grad_hook(detail::LeafHook hook) const;

  /// Returns the edge for this variable's gradient; empty if it requires none.
  [[nodiscard]] Edge gradient_edge() const;

  /// Returns the identity, for maps; null if undefined. Unique among the variables that are alive.
  [[nodiscard]] const void* id() const noexcept { return state_.get(); }

  /// Returns whether both are the same variable, or both are undefined.
  friend bool same(const Variable& a, const Variable& b) noexcept { return a.state_ == b.state_; }

  /// Returns output `edge.slot` of vertex `edge.fn`, which requires a gradient. For operations, not for users.
  [[nodiscard]] static Variable output_of(Edge edge, Tensor value);

 private:
  friend class LeafFn;
  struct State;
  explicit Variable(std::shared_ptr<State> state) : state_(std::move(state)) {}
  [[nodiscard]] State& state(const char* operation) const;
  HookHandle add_gradient_hook(detail::GradientHook hook) const;

  /// Whether dtype and device of a new value must be the same.
  enum class Kind : std::uint8_t { same, any };
  void assign(const char* operation, Tensor value, Kind kind) const;

  std::shared_ptr<State> state_;
};

namespace detail {

/// Whether operations record a graph. `replay`: not now, but they will when the checkpointed function is replayed.
enum class Recording : std::uint8_t { off, on, replay };

}  // namespace detail

/// Disables graph recording on this thread during the guard's life.
class NoGradGuard {
 public:
  NoGradGuard() noexcept;
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  detail::Recording before_;
};

/// Enables graph recording on this thread during the guard's life, also inside a NoGradGuard.
class EnableGradGuard {
 public:
  EnableGradGuard() noexcept;
  ~EnableGradGuard();
  EnableGradGuard(const EnableGradGuard&) = delete;
  EnableGradGuard& operator=(const EnableGradGuard&) = delete;

 private:
  detail::Recording before_;
};

/// Returns whether operations of this thread record a graph. True unless the innermost guard is a NoGradGuard.
[[nodiscard]] bool grad_enabled() noexcept;

}  // namespace troupe
