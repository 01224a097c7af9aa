// One case of the reference suite: inputs and options, and torch's results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "autograd/variable.h"
#include "tensor/io/named_tensors.h"
#include "tensor/ops/nn.h"
#include "tensor/shape.h"

namespace troupe::reference {

/// The arrays of a case by name, as recipe.py stores them: "in0", "out0", "grad0", "g0", "option.dim", ...
using Arrays = std::map<std::string, Tensor>;

/// A case in one dtype. Floating point inputs are stored as f32 and results as f64, for both dtypes.
class Case {
 public:
  Case(const Arrays& arrays, DType dtype);

  [[nodiscard]] DType dtype() const { return dtype_; }

  /// Returns input `i`. It requires a gradient if the case expects one.
  [[nodiscard]] const Variable& in(std::size_t i) const { return inputs_.at(i); }
  [[nodiscard]] Tensor tensor(std::size_t i) const { return inputs_.at(i).value(); }
  [[nodiscard]] const std::vector<Variable>& inputs() const { return inputs_; }

  [[nodiscard]] bool has(const std::string& option) const;
  [[nodiscard]] double number(const std::string& option) const;
  [[nodiscard]] double number_or(const std::string& option, double otherwise) const;
  [[nodiscard]] std::vector<double> numbers(const std::string& option) const;
  [[nodiscard]] std::int64_t integer(const std::string& option) const;
  [[nodiscard]] int dim(const std::string& option = "dim") const { return static_cast<int>(integer(option)); }
  [[nodiscard]] bool flag(const std::string& option) const { return integer(option) != 0; }
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& option) const;
  [[nodiscard]] std::vector<int> dims(const std::string& option) const;
  [[nodiscard]] Size2d size2d(const std::string& option) const;
  [[nodiscard]] Shape shape(const std::string& option) const;
  [[nodiscard]] std::string text(const std::string& option) const;
  /// Returns the option "reduction": the mean, unless it is "none" or "sum".
  [[nodiscard]] Reduction reduction() const;

  /// Returns the expected results as stored; the suite's matches() defines the tolerance for its dtype.
  [[nodiscard]] const Arrays& arrays() const { return arrays_; }
  /// Returns the array of this name, in the dtype of the case if it is floating point; undefined if there is none.
  [[nodiscard]] Tensor find(const std::string& name) const;
  /// Returns all arrays whose names begin with `prefix`, with the prefix removed.
  [[nodiscard]] NamedTensors all(const std::string& prefix) const;

 private:
  [[nodiscard]] const Tensor& option(const std::string& name) const;

  const Arrays& arrays_;  ///< outlives the case
  DType dtype_;
  std::vector<Variable> inputs_;
};

/// Reads all .npz files of `folder`: the arrays of each case by its name, "softmax/3".
[[nodiscard]] std::map<std::string, Arrays> read_cases(const std::filesystem::path& folder);

}  // namespace troupe::reference
