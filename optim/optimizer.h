// The interface of every update rule: it computes new values from values and gradients, with states per parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "optim/parameter_states.h"
#include "tensor/tensor.h"

namespace troupe {
struct UpdateFormula;
struct UpdateItem;
}  // namespace troupe

namespace troupe::optim {

/// One parameter in one step.
struct ParameterUpdate {
  std::size_t index = 0;  ///< names the parameter's state; the caller gives each parameter one number for good
  Tensor current;         ///< the present value; only read
  Tensor gradient;        ///< same shape and dtype; only read, unless it is `next`
  /// Receives the new value. Same shape and dtype, contiguous, in memory of its own; or the gradient itself, if it is
  /// contiguous and the caller gives it up.
  Tensor next;
  /// Row numbers, i64 (n), ascending; undefined: all rows. The gradient, (n, ...), belongs to these rows and is 0 in
  /// all others; only these rows of `next` are written. REQUIRES: `next` already holds the elements of `current`.
  Tensor rows = {};
};

/// How a step changes every element of a gradient before the rule reads it, in the dtype of the computation. The
/// gradient tensor itself is not written.
struct StepOptions {
  double gradient_scale = 1.0;                                      ///< first, each element is multiplied by this
  double gradient_limit = std::numeric_limits<double>::infinity();  ///< then clamped to [-limit, limit]; NaN stays NaN
};

/// An update rule. It never writes into a value: the new value goes to a second buffer or replaces the gradient, so
/// forwards that read the old value are not disturbed. A step has two halves, prepare() and commit(), so that several
/// owners can take it together or not at all. The caller leaves out parameters without a gradient; nothing of them
/// changes. Values of f64 are computed in f64, all others in f32, in one pass over memory: on the CPU one parallel loop
/// over all parameters, on a GPU one kernel per parameter.
///
/// A value of f16 or bf16 has a master copy in f32 among its states, made at its first step. A step starts from it and
/// rounds the result, so steps smaller than half the last digit add up. Where other code changed the value between two
/// steps (set_value, a loaded model), the step starts from the changed elements.
///
/// Not thread-safe: one owner at a time.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// The rule's name: "sgd".
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// Returns the step size of steps prepared from now on.
  [[nodiscard]] virtual double lr() const noexcept = 0;
  /// Throws ValueError `[sgd] lr is not a number >= 0: -0.1`.
  virtual void set_lr(double lr) = 0;

  /// Returns the momentum of steps prepared from now on: the share of the direction, or of the mean of gradients, that
  /// a step keeps. 0 if the rule has no momentum.
  [[nodiscard]] virtual double momentum() const noexcept = 0;
  /// Sets the momentum. state_dict() does not save it: a schedule that is loaded sets it again. Throws ValueError
  /// `[adagrad] has no momentum`, `[sgd] momentum is not a number >= 0: -1`, `[sgd] momentum 0.5 for a rule that was
  /// made without`.
  virtual void set_momentum(double momentum) = 0;

  /// Returns whether the rule can step by rows: an element with gradient 0 keeps its value and states, or the rule
  /// leaves out the rows that the gradient lacks (SparseAdam).
  [[nodiscard]] virtual bool zero_changes_nothing() const noexcept { return false; }

  /// The first half of a step: writes every `next`, and the new states beside the present ones. REQUIRES: commit() or
  /// rollback() follows. Throws before any write: TensorError `[sgd] parameter 3 has no gradient`; ShapeError,
  /// DTypeError and DeviceError if tensors of one parameter do not fit each other or its states; ValueError if an index
  /// occurs twice, `next` is not contiguous or is memory that the step reads, an option is not a number, rows are not
  /// ascending, or the rule does not step by rows; std::logic_error if a prepared step is still open.
  void prepare(std::span<const ParameterUpdate> updates, const StepOptions& options = {});

  /// Adds updates to the prepared step, for gradients that become known one after the other. `options` should equal
  /// those of prepare(). Throws as prepare(), and the step stays as it was; std::logic_error if no step is prepared.
  void prepare_more(std::span<const ParameterUpdate> updates, const StepOptions& options = {});

  /// Makes the states of the prepared step the present ones. Throws std::logic_error if no step is prepared.
  void commit();

  /// Discards the prepared step, as if prepare() had not been called. Throws std::logic_error if no step is prepared.
  void rollback();

  /// prepare() and commit() with states updated in place: a third less memory, and faster. Throws as prepare().
  void step(std::span<const ParameterUpdate> updates, const StepOptions& options = {});

  /// The part of one rule in a step of several.
  struct Part {
    Optimizer* rule = nullptr;
    std::span<const ParameterUpdate> updates;
  };
  /// step() of several rules, each at most once in `parts`: throws before any of them has written a value or a state.
  static void step_together(std::span<const Part> parts, const StepOptions& options = {});

  /// Throws the error that step() would throw for these arguments, and changes nothing.
  void check(std::span<const ParameterUpdate> updates, const StepOptions& options = {}) const;

  /// Returns the number of steps that parameter `index` has taken.
  [[nodiscard]] std::int64_t steps(std::size_t index) const { return states_.steps(index); }

  /// Returns the present state `name` of parameter `index`; "master" is the master copy. Undefined before the
  /// parameter's first step, and if the rule has no such state. Later steps do not change the returned tensor.
  [[nodiscard]] Tensor state(std::size_t index, std::string_view name) const { return states_.find(index, name); }

  /// Returns options and states by name for write_safetensors(): "adam.lr" (f64), "parameters.3.exp_avg",
  /// "parameters.3.step" (i64). Nothing is copied on the CPU; later steps do not change the returned tensors.
  [[nodiscard]] NamedTensors state_dict() const;
  /// Returns at most `count` tensors of state_dict(), from number `first` on. Takes no snapshot of others.
  [[nodiscard]] NamedTensors state_dict_part(std::size_t first, std::size_t count) const;
  /// Returns the number of tensors of state_dict().
  [[nodiscard]] std::size_t state_dict_size() const;

  /// Restores a saved state: later steps give the same bits as in the saved run. Takes the step size from `state`; all
  /// other options must equal the saved ones. Reads the names that begin with `prefix` and copies. Unless `values` is
  /// empty, the states of parameter i must fit values[i] and go to its device. On an error changes nothing. Throws
  /// ValueError that lists every mismatch: `[load_state_dict] missing: adam.lr; unexpected: sgd.lr; given twice:
  /// parameters.0.step; adam.eps is 0.1, not 1e-08; parameters.0.exp_avg is f32 (2), not f32 (3)`; std::logic_error if
  /// a prepared step is open.
  void load_state_dict(const NamedTensors& state, std::span<const Tensor> values = {}, const std::string& prefix = {});

 protected:
  /// `product`: the name under which each parameter's product() is saved; empty: the rule keeps none.
  explicit Optimizer(std::vector<StateKind> kinds, std::string product = {});

  /// Returns the formula of step number `step` of a parameter, from 1 on. Its states are the kinds given to the
  /// constructor.
  [[nodiscard]] virtual UpdateFormula formula(std::int64_t step) const = 0;

  /// Returns all options by name; flags are 0 or 1.
  [[nodiscard]] virtual std::vector<std::pair<std::string, double>> named_options() const = 0;

  /// Returns whether steps go along the gradient instead of against it.
  [[nodiscard]] virtual bool maximizes() const noexcept = 0;

  /// A rule may keep, for each parameter, the product of one factor in [0, 1) per step, each with the options of its
  /// step. Returns that of the first `step` steps, the last of which is computed now. `before` is that of the steps
  /// before; nullopt in the first step, and after a state was loaded without it. Other rules return nullopt.
  [[nodiscard]] virtual std::optional<double> product(std::int64_t step, std::optional<double> before) const;
  /// formula() of a rule that keeps a product, which is that of the first `step` steps.
  [[nodiscard]] virtual UpdateFormula formula_with(std::int64_t step, double product) const;

 private:
  enum class States : std::uint8_t { kept, replaced };
  /// Appends what troupe::update() computes, with memory for all of it.
  void add_items(std::span<const ParameterUpdate> updates, const StepOptions& options, States states,
                 std::vector<UpdateItem>& items);
  void compute(std::span<const ParameterUpdate> updates, const StepOptions& options);
  /// Computes the updates and notes their indices. REQUIRES: none of them is noted. On an error none is noted.
  void add_prepared(std::span<const ParameterUpdate> updates, const StepOptions& options);
  /// Throws the error of check(), whether a step is prepared or not.
  void check_updates(std::span<const ParameterUpdate> updates, const StepOptions& options) const;
  void require_closed() const;
  void require_open(std::string_view what) const;

  ParameterStates states_;
  bool open_ = false;
  std::unordered_set<std::size_t> prepared_;  // indices of the prepared step
};

}  // namespace troupe::optim
