// Reads a saved state by name and reports all its errors at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// The tensors of a saved state whose names begin with `prefix`. Each can be taken once. Not thread-safe.
class SavedState {
 public:
  SavedState(const NamedTensors& tensors, std::string prefix);

  /// Returns the tensor `name`, given without the prefix. If it is missing, returns an undefined tensor and records
  /// that.
  [[nodiscard]] Tensor take(const std::string& name);

  /// The same for an optional tensor: records nothing if it is missing.
  [[nodiscard]] Tensor take_if_there(const std::string& name);

  /// Returns whether there is a tensor `name` that was not taken yet.
  [[nodiscard]] bool has(const std::string& name) const { return left_.contains(name); }

  /// Returns the element of a scalar of f64. If it is missing or not such a scalar, returns nullopt and records that.
  [[nodiscard]] std::optional<double> take_number(const std::string& name);
  /// The same of i64.
  [[nodiscard]] std::optional<std::int64_t> take_integer(const std::string& name);

  /// Returns the names, without the prefix, of the tensors that were not taken yet.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Records the error `<prefix><name> <what>`.
  void complain(const std::string& name, const std::string& what);

  /// Throws ValueError if an error was recorded or a tensor was not taken: `[load_state_dict] missing: a, b;
  /// unexpected: c; given twice: d; adam.lr is f32 (2), not f64 ()`.
  void finish() const;

 private:
  template <class T>
  std::optional<T> take_scalar(const std::string& name);

  std::string prefix_;
  std::map<std::string, Tensor> left_;
  std::vector<std::string> missing_;
  std::vector<std::string> twice_;
  std::vector<std::string> complaints_;
};

}  // namespace troupe::optim
