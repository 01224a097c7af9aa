// The result of a backward pass: gradients by variable.
#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe {

/// Gradients of leaf variables, by identity. Iteration gives (variable, gradient) in the order of first arrival. Not
/// thread-safe.
///
/// If every use of a table asked for a gradient as rows (EmbeddingOptions::sparse), the gradient is kept as rows. of()
/// converts it to a new tensor for the caller; begin() converts all of them once. The rows are stored as the pass
/// produced them; the first sparse_of() coalesces them.
class Gradients {
 public:
  using Entry = std::pair<Variable, Tensor>;

  /// Returns the gradient of `leaf`; undefined if none reached it.
  [[nodiscard]] Tensor of(const Variable& leaf) const;

  /// Returns the gradient of `leaf` as coalesced rows; undefined if none reached it or a part of it is dense.
  [[nodiscard]] SparseTensor sparse_of(const Variable& leaf) const;

  /// Adds `gradient` to the gradient of `leaf`. A sum is a new tensor: neither operand is written to.
  void add(const Variable& leaf, const Tensor& gradient);
  void add(const Variable& leaf, const SparseTensor& gradient);

  /// Adds all of `others`, as the sum of several passes over one graph.
  void add(const Gradients& others);

  /// Returns the gradients of all leaves but `others`, as they are stored.
  [[nodiscard]] Gradients without(std::span<const Variable> others) const;

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::vector<Entry>::const_iterator begin() const;
  [[nodiscard]] std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

  /// Returns the leaves in the order of iteration, for callers that take rows as they are.
  [[nodiscard]] std::vector<Variable> leaves() const;

 private:
  struct Kept {
    std::size_t place = 0;  ///< in `entries_`
    SparseTensor rows;      ///< the gradient, if it is rows only; else undefined
  };

  mutable std::vector<Entry> entries_;                     ///< the tensor is undefined while the gradient is rows only
  mutable std::unordered_map<const void*, Kept> by_leaf_;  ///< by identity
};

}  // namespace troupe
