// Where the graph leaves a node: a SendFn here, a RecvFn there. Neither knows ids or messages; the tag is its maker's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "autograd/grad_fn.h"
#include "autograd/variable.h"

namespace troupe {

/// The end of a graph at the node that sent variables to a peer. In backward the peer's RecvFn gives it one gradient
/// (or none) per sent variable, which it passes on.
class SendFn final : public GradFn {
 public:
  /// The vertex for `sent`, in this order; marked as made now by this thread. `tag` is kept and not looked at.
  /// Throws TensorError if `sent` is empty or one of them requires no gradient.
  [[nodiscard]] static std::shared_ptr<const SendFn> make(std::span<const Variable> sent,
                                                          std::shared_ptr<const void> tag = nullptr);

  [[nodiscard]] const std::shared_ptr<const void>& tag() const noexcept { return tag_; }

  /// Throws TensorError unless `gradients` are one per sent variable, each undefined or of its shape and dtype.
  void check(std::span<const Tensor> gradients) const;

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  struct Sent {
    Shape shape;
    DType dtype;
  };
  SendFn(std::vector<Edge> next, std::vector<Sent> sent, std::shared_ptr<const void> tag);

  std::vector<Sent> sent_;
  std::shared_ptr<const void> tag_;
};

/// The beginning of a graph at the node that received variables. In backward it collects the gradients of all of them
/// and hands them to the GradientSink once.
class RecvFn final : public GradFn {
 public:
  /// The vertex for `count` received variables. Throws TensorError if `count` is 0.
  [[nodiscard]] static std::shared_ptr<const RecvFn> make(std::uint32_t count,
                                                          std::shared_ptr<const void> tag = nullptr);

  /// Received variable number `slot` of `recv`; requires a gradient. Made once per slot: each call is a new identity.
  /// Throws TensorError if `slot` is out of range, DTypeError if the dtype is not floating point.
  [[nodiscard]] static Variable variable(const std::shared_ptr<const RecvFn>& recv, std::uint32_t slot, Tensor value);

  [[nodiscard]] const std::shared_ptr<const void>& tag() const noexcept { return tag_; }

  /// Never called by the engine. Throws std::logic_error.
  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor> gradients) const override;

 private:
  RecvFn(std::uint32_t count, std::shared_ptr<const void> tag);

  std::shared_ptr<const void> tag_;
};

/// Takes what leaves this node in a backward pass.
class GradientSink {
 public:
  virtual ~GradientSink() = default;

  /// All contributions to `recv` are in: one gradient per received variable, undefined where there is none (all may
  /// be). Called at most once per RecvFn and pass, on the thread that runs the pass. Must not call back into the task.
  virtual void deliver(const std::shared_ptr<const RecvFn>& recv, std::vector<Tensor> gradients) = 0;
};

}  // namespace troupe
