// The states that a rule keeps for each parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/io/named_tensors.h"
#include "tensor/tensor.h"

namespace troupe::optim {

class SavedState;

/// A tensor that a rule keeps for every parameter.
struct StateKind {
  std::string name;    ///< PyTorch's name: "exp_avg"
  double first = 0.0;  ///< value of every element before the first step
};

/// The name of the last state of a 16-bit parameter: its value in f32.
inline constexpr std::string_view kMaster = "master";

/// The states of one parameter.
struct ParameterState {
  std::int64_t steps = 0;       ///< number of steps taken
  std::vector<Tensor> present;  ///< one of each kind, then the master copy if the value has 16 bits
  std::vector<Tensor> next;     ///< states after the prepared step; their memory is reused

  std::optional<double> product = {};       ///< Optimizer::product(); nullopt before the first step, or if not loaded
  std::optional<double> next_product = {};  ///< after the step that is computed
};

/// The states of all parameters of one rule, by the caller's parameter numbers. Not thread-safe: one owner at a time.
class ParameterStates {
 public:
  /// `product`: the name under which each parameter's product is saved; empty: the rule keeps none.
  ParameterStates(std::vector<StateKind> kinds, std::string product);

  /// Throws ShapeError `[sgd] parameter 0 is not what it was: f64 (2), before f64 (1)` unless `value` fits the states
  /// of earlier steps.
  void check(std::string_view rule, std::size_t index, const Tensor& value) const;

  /// Returns the states of a parameter with value `value`. Allocates and fills first states if there are none that fit.
  [[nodiscard]] ParameterState& ready(std::size_t index, const Tensor& value);

  /// The same, and allocates memory for the next states.
  [[nodiscard]] ParameterState& ready_with_next(std::size_t index, const Tensor& value);

  /// Makes the next states the present ones and counts the step.
  void commit(std::size_t index);

  /// Counts a step that updated the present states in place.
  void count_step(std::size_t index);

  [[nodiscard]] std::int64_t steps(std::size_t index) const;

  /// Returns the present state `name`; later steps do not change the returned tensor. Undefined before the first step,
  /// and if there is no such state.
  [[nodiscard]] Tensor find(std::size_t index, std::string_view name) const;

  /// Returns the present states of all parameters that took steps, as find() does, and their numbers of steps (i64):
  /// "parameters.3.exp_avg", "parameters.3.step"; and their products (f64), if known. At most `count` of these, from
  /// number `first` on.
  [[nodiscard]] NamedTensors save(std::size_t first, std::size_t count) const;
  /// Returns the number of all tensors that save() may return.
  [[nodiscard]] std::size_t saved_size() const;

  /// Returns copies of the saved states, of the same kinds. Reports every mismatch to `saved`; a product may be
  /// missing. Unless `values` is empty, the states of parameter i must fit values[i] and are copied to its device.
  [[nodiscard]] ParameterStates loaded(SavedState& saved, std::span<const Tensor> values) const;

 private:
  void load_one(std::size_t index, SavedState& saved, std::span<const Tensor> values);
  [[nodiscard]] std::size_t place_of(std::string_view name) const;

  std::vector<StateKind> kinds_;
  std::string product_;
  std::map<std::size_t, ParameterState> states_;
};

}  // namespace troupe::optim
