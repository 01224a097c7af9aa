// What a backward pass found: gradients by variable.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/tensor.h"

namespace troupe {

/// Gradients of leaf variables, by identity. Iteration gives (variable, gradient) in the order of first arrival.
/// Not safe for several threads at once.
class Gradients {
 public:
  using Entry = std::pair<Variable, Tensor>;

  /// The gradient of `leaf`; undefined if none reached it.
  [[nodiscard]] Tensor of(const Variable& leaf) const;

  /// Adds to what is there for `leaf`. The sum is a new tensor: neither operand is written to.
  void add(const Variable& leaf, const Tensor& gradient);

  /// Adds all of `others`: several passes over one graph sum up.
  void add(const Gradients& others);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::vector<Entry>::const_iterator begin() const noexcept { return entries_.begin(); }
  [[nodiscard]] std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
  std::unordered_map<const void*, std::size_t> index_;
};

}  // namespace troupe
