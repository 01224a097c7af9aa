// What every update rule is: a function from values and gradients to new values, with a state per parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optim/parameter_states.h"
#include "tensor/ops/update.h"
#include "tensor/tensor.h"

namespace troupe::optim {

/// One parameter in one step.
struct ParameterUpdate {
  std::size_t index = 0;  ///< names the parameter's state; the caller numbers its parameters once and for all
  Tensor current;         ///< the value now; only read
  Tensor gradient;        ///< of the same shape and dtype; only read, unless it is `next`
  /// Receives the new value: same shape and dtype, contiguous, memory that the others do not use; or a contiguous
  /// gradient that nobody needs any more.
  Tensor next;
  /// Numbers of rows, i64 (n), ascending: the gradient, (n, ...), is of these alone, and 0 in all others. Then `next`
  /// has the elements of `current` already, and only these rows of it are written. Undefined: the gradient is of all.
  Tensor rows = {};
};

/// What a step makes of every element of a gradient before the rule sees it, in the dtype that the rule computes in.
/// The gradient itself is not written.
struct StepOptions {
  double gradient_scale = 1.0;                                      ///< it is multiplied by this, then
  double gradient_limit = std::numeric_limits<double>::infinity();  ///< brought into [-limit, limit]; a NaN stays one
};

/// An update rule. It never writes into a value: the new one goes to a second buffer, or where the gradient was, so
/// forwards that read the old one are not disturbed. A step has two halves, so that several owners can take it together
/// or not at all. Parameters that got no gradient are left out of a step by the caller; nothing of theirs changes. All
/// parameters of a step are computed in one pass over their memory, in f64 for f64, else in f32, on the CPU.
///
/// A value of f16 or bf16 has a master copy in f32 among its states, made at its first step. Steps are taken from the
/// master copy and the new value is what it rounds to, so steps below half the last digit add up. Elements that someone
/// else changed between two steps (set_value, a loaded model) count as they are.
///
/// One owner at a time: not safe for several threads at once.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The rule's name: "sgd".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// The step size, of steps that are prepared from now on.
  [[nodiscard]] virtual double lr() const noexcept = 0;
  /// Throws ValueError `[sgd] lr is not a number >= 0: -0.1`.
  virtual void set_lr(double lr) = 0;

  /// The momentum of steps that are prepared from now on: the share of the direction, or of the mean of gradients, that
  /// is kept. 0 of a rule that has none.
  [[nodiscard]] virtual double momentum() const noexcept = 0;
  /// What a schedule sets is not saved with the options: a schedule that is loaded sets it again. Throws ValueError
  /// `[adagrad] has no momentum`, `[sgd] momentum is not a number >= 0: -1`, `[sgd] momentum 0.5 for a rule that was
  /// made without`.
  virtual void set_momentum(double momentum) = 0;

  /// Whether an element whose gradient is 0 keeps value and states, so that steps can be taken by rows; or the rule
  /// leaves out rows that a gradient does not have (SparseAdam).
  [[nodiscard]] virtual bool zero_changes_nothing() const noexcept { return false; }

  /// Writes every `next` and keeps the states that belong to them aside. commit() or rollback() must follow.
  /// Throws before anything is written: TensorError `[sgd] parameter 3 has no gradient`; ShapeError, DTypeError and
  /// DeviceError where tensors of one parameter do not fit each other or the steps before; ValueError if an index
  /// occurs twice, `next` is not memory of its own, an option is not a number, or rows are not ascending or not for
  /// this rule; std::logic_error if a prepared step is still open.
  void prepare(std::span<const ParameterUpdate> updates, const StepOptions& options = {});

  /// Makes the states of the prepared step the present ones. Throws std::logic_error if there is none.
  void commit();

  /// Forgets the prepared step, as if prepare() had not been called. Throws std::logic_error if there is none.
  void rollback();

  /// What prepare() and commit() do, with states updated where they are: a third less memory, and faster.
  /// Throws as prepare().
  void step(std::span<const ParameterUpdate> updates, const StepOptions& options = {});

  /// Throws what step() would throw of these arguments.
  void check(std::span<const ParameterUpdate> updates, const StepOptions& options = {}) const;

  /// How many steps parameter `index` has taken.
  [[nodiscard]] std::int64_t steps(std::size_t index) const { return states_.steps(index); }

  /// The state of this name of parameter `index` as it is now; "master" is the master copy. Undefined before its first
  /// step, and where the rule keeps none of this name.
  [[nodiscard]] Tensor state(std::size_t index, std::string_view name) const { return states_.find(index, name); }

  /// Options and states by name, for write_safetensors(): "adam.lr" (f64), "parameters.3.exp_avg", "parameters.3.step"
  /// (i64). Nothing is copied; later steps do not change what is returned.
  [[nodiscard]] NamedTensors state() const;

  /// Goes on from a state that was saved: steps that follow give the bits that they would have given there. The step
  /// size is taken over, all other options must be what they were. Reads the names that begin with `prefix`, and
  /// copies. Unless `values` is empty, a parameter's state must fit the value at its number, and goes to that one's
  /// device. Throws ValueError that names all that does not fit, and changes nothing: `[load_state] missing: adam.lr;
  /// unexpected: sgd.lr; given twice: parameters.0.step; adam.eps is 0.1, not 1e-08; parameters.0.exp_avg is f32 (2),
  /// not f32 (3)`; std::logic_error if a prepared step is open.
  void load_state(const NamedTensors& state, std::span<const Tensor> values = {}, const std::string& prefix = {});

 protected:
  explicit Optimizer(std::vector<StateKind> kinds) : states_(std::move(kinds)) {}

  /// The formula of a parameter's step number `step`, from 1 on. Its states are the kinds that the rule was made with.
  [[nodiscard]] virtual UpdateFormula formula(std::int64_t step) const = 0;

  /// All options by name; flags are 0 or 1.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> named_options() const = 0;

  /// Whether steps go along the gradient.
  [[nodiscard]] virtual bool maximizes() const noexcept = 0;

 private:
  enum class States : std::uint8_t { kept, replaced };
  void compute(std::span<const ParameterUpdate> updates, const StepOptions& options, States states);
  void require_closed() const;
  void require_open(std::string_view what) const;

  ParameterStates states_;
  bool open_ = false;
  std::vector<std::size_t> prepared_;
};

}  // namespace troupe::optim
