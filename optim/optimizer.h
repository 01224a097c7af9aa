// What every update rule is: a function from values and gradients to new values, with a state per parameter.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/tensor.h"

namespace troupe::optim {

/// One parameter in one step.
struct ParameterUpdate {
  std::size_t index = 0;  ///< names the parameter's state; the caller numbers its parameters once and for all
  Tensor current;         ///< the value now; only read
  Tensor gradient;        ///< of the same shape and dtype; only read
  Tensor next;  ///< receives the new value: same shape and dtype, contiguous, memory that the others do not use
};

/// An update rule. It never writes into a value or a gradient: the new value goes to a second buffer, so forwards that
/// read the old one are not disturbed. A step has two halves, so that several owners can take it together or not at
/// all. Parameters that got no gradient are left out of a step by the caller; nothing of theirs changes. Values of f16 and
/// bf16 are stepped in f32 and the new ones rounded, so a step below half their last digit is lost; their states are f32.
/// One owner at a time: not safe for several threads at once.
class Optimizer {
 public:
  Optimizer() = default;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The rule's name: "sgd".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Writes every `next` and keeps the states that belong to them aside. commit() or rollback() must follow.
  /// Throws before anything is written: TensorError `[sgd] parameter 3 has no gradient`; ShapeError, DTypeError and
  /// DeviceError where tensors of one parameter do not fit each other; ValueError if an index occurs twice or `next` is
  /// not memory of its own; std::logic_error if a prepared step is still open.
  void prepare(std::span<const ParameterUpdate> updates);

  /// Makes the states of the prepared step the present ones. Throws std::logic_error if there is none.
  void commit();

  /// Forgets the prepared step, as if prepare() had not been called. Throws std::logic_error if there is none.
  void rollback();

  /// prepare() and commit().
  void step(std::span<const ParameterUpdate> updates);

 protected:
  /// Throws if the parameter does not fit the state that it left in earlier steps. Default: nothing to check.
  virtual void check_state(const ParameterUpdate& update) const;

  /// Writes `update.next`, and the parameter's next state where commit_state() finds it. `update` has been checked; it is
  /// f32 or f64.
  virtual void prepare_one(const ParameterUpdate& update) = 0;

  /// Makes the state that prepare_one() left for parameter `index` the present one.
  virtual void commit_state(std::size_t index) noexcept = 0;

 private:
  void check(std::span<const ParameterUpdate> updates) const;
  void require_open(std::string_view what) const;

  bool open_ = false;
  std::vector<std::size_t> prepared_;
};

}  // namespace troupe::optim
