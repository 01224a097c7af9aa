// What a rule remembers of each parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optim/saved_state.h"
#include "tensor/io/named_tensors.h"
#include "tensor/tensor.h"

namespace troupe::optim {

/// A tensor that a rule keeps for every parameter.
struct StateKind {
  std::string name;    ///< as PyTorch calls it: "exp_avg"
  double first = 0.0;  ///< every element before the first step
};

/// The name of the last state of a 16-bit parameter, its value in f32.
inline constexpr std::string_view kMaster = "master";

/// The states of one parameter.
struct ParameterState {
  std::int64_t steps = 0;       ///< taken so far
  std::vector<Tensor> present;  ///< one of each kind, then the master copy if there is one
  std::vector<Tensor> next;     ///< after the step that is prepared; memory that is used again
};

/// The states of all parameters of one rule, by the numbers that the caller gave them. One owner at a time: not safe
/// for several threads at once.
class ParameterStates {
 public:
  explicit ParameterStates(std::vector<StateKind> kinds) : kinds_(std::move(kinds)) {}

  /// Throws ShapeError `[sgd] parameter 0 is not what it was: f64 (2), before f64 (1)` unless `value` fits the states
  /// that earlier steps left.
  void check(std::string_view rule, std::size_t index, const Tensor& value) const;

  /// The states of a parameter whose value is now `value`: those that steps left, else the first ones.
  [[nodiscard]] ParameterState& ready(std::size_t index, const Tensor& value);

  /// The same, with memory for the next states.
  [[nodiscard]] ParameterState& ready_with_next(std::size_t index, const Tensor& value);

  /// Makes the next states the present ones and counts the step.
  void commit(std::size_t index);

  /// Counts a step that replaced the present states.
  void count_step(std::size_t index) { ++states_.at(index).steps; }

  [[nodiscard]] std::int64_t steps(std::size_t index) const;

  /// The present state of this name as it is now: later steps do not change what is returned. Undefined before the
  /// first step, and if there is none of this name.
  [[nodiscard]] Tensor find(std::size_t index, std::string_view name) const;

  /// All present states of parameters that took steps, as find() returns them, and their numbers of steps (i64):
  /// "parameters.3.exp_avg", "parameters.3.step".
  [[nodiscard]] NamedTensors save() const;

  /// Returns states of the same kinds with what was saved, copied; complains to `saved` about what does not fit. Unless
  /// `values` is empty, states must fit the value at their parameter's number, and go to its device.
  [[nodiscard]] ParameterStates loaded(SavedState& saved, std::span<const Tensor> values) const;

 private:
  void load_one(std::size_t index, SavedState& saved, std::span<const Tensor> values);
  [[nodiscard]] std::size_t place_of(std::string_view name) const;

  std::vector<StateKind> kinds_;
  std::map<std::size_t, ParameterState> states_;
};

}  // namespace troupe::optim
