// Where the graph leaves a node: a SendFn here, a RecvFn there. Neither knows ids or messages: the caller
// keeps those in the tag.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"
#include "tensor/device.h"
#include "tensor/sparse.h"

namespace troupe {

/// The end of a graph at the node that sent variables to a peer. In a backward pass it takes one gradient (or none) per
/// sent variable from the peer's RecvFn and passes them on.
class SendFn final : public GradFn {
 public:
  /// Returns the vertex for `sent`, in this order, with a creation mark of this thread. Keeps `tag` and does not
  /// interpret it.
  /// Throws TensorError if `sent` is empty or one of its variables requires no gradient.
  [[nodiscard]] static std::shared_ptr<const SendFn> make(std::span<const Variable> sent,
                                                          std::shared_ptr<const void> tag = nullptr);

  [[nodiscard]] const std::shared_ptr<const void>& tag() const noexcept { return tag_; }

  /// Returns whether all sent variables are on the CPU.
  [[nodiscard]] bool is_on_cpu() const noexcept;

  /// Throws TensorError unless `gradients` has one entry per sent variable, undefined or of the variable's shape and
  /// dtype.
  void check(std::span<const Tensor> gradients) const;

  /// Moves the gradients, which may come on any device, to those of the sent variables.
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  struct Sent {
    Shape shape;
    DType dtype;
    Device device;
  };
  SendFn(std::vector<Edge> next, std::vector<Sent> sent, std::shared_ptr<const void> tag);

  std::vector<Sent> sent_;
  std::shared_ptr<const void> tag_;
};

/// The beginning of a graph at the node that received variables. In a backward pass it collects the gradients of all
/// received variables and gives them to the GradientSink once.
class RecvFn final : public GradFn {
 public:
  /// Returns the vertex for `count` received variables. Throws TensorError if `count` is 0.
  [[nodiscard]] static std::shared_ptr<const RecvFn> make(std::uint32_t count,
                                                          std::shared_ptr<const void> tag = nullptr);

  /// Returns received variable number `slot` of `recv`, which requires a gradient. REQUIRES: called once per slot,
  /// because each call makes a new variable.
  /// Throws TensorError if `slot` is out of range, DTypeError if the dtype is not floating point.
  [[nodiscard]] static Variable variable(const std::shared_ptr<const RecvFn>& recv, std::uint32_t slot, Tensor value);

  [[nodiscard]] const std::shared_ptr<const void>& tag() const noexcept { return tag_; }

  /// Throws std::logic_error: the engine never calls it.
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  RecvFn(std::uint32_t count, std::shared_ptr<const void> tag);

  std::shared_ptr<const void> tag_;
};

/// Receives the gradients that leave this node in a backward pass, and those of leaves as soon as they are final.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  /// All contributions to `recv` have arrived. `gradients` has one entry per received variable, undefined where there
  /// is no gradient (all may be undefined). Called at most once per RecvFn and pass, on the thread that runs the pass.
  /// REQUIRES: does not call the GraphTask.
  virtual void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) = 0;

  /// The gradient of `leaf` is final in this pass: `gradient`, or `rows` if it is kept as rows; the other is undefined.
  /// Called at most once per leaf and pass, on the thread that runs the pass. REQUIRES: does not call the GraphTask and
  /// does not write to the gradient.
  virtual void found(const Variable& leaf, const Tensor& gradient, const SparseTensor& rows) {
    static_cast<void>(leaf), static_cast<void>(gradient), static_cast<void>(rows);
  }
};

}  // namespace troupe
