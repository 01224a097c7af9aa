// Reading a state that was saved by name, with all that is wrong with it said at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tensor/io/named_tensors.h"

namespace troupe::optim {

/// The tensors of a saved state whose names begin with some prefix, each to be taken once. One thread at a time.
class SavedState {
 public:
  SavedState(const NamedTensors& tensors, std::string prefix);

  /// Returns the tensor of this name (without the prefix); undefined if it is missing, which is then a complaint.
  [[nodiscard]] Tensor take(const std::string& name);

  /// The same for one that need not be there.
  [[nodiscard]] Tensor take_if_there(const std::string& name);

  /// Returns the only element of a tensor of f64 and no dimensions; nothing if it is missing or another tensor, which
  /// is then a complaint.
  [[nodiscard]] std::optional<double> take_number(const std::string& name);
  /// The same of i64.
  [[nodiscard]] std::optional<std::int64_t> take_integer(const std::string& name);

  /// The names, without the prefix, of what was not taken yet.
  [[nodiscard]] std::vector<std::string> names() const;

  /// Adds `<prefix><name> <what>` to what is wrong.
  void complain(const std::string& name, const std::string& what);

  /// Throws ValueError unless everything was taken and nobody complained:
  /// `[load_state] missing: a, b; unexpected: c; given twice: d; adam.lr is f32 (2), not f64 ()`.
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
