// What a backward pass found: gradients by variable.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/variable.h"
#include "tensor/sparse.h"
#include "tensor/tensor.h"

namespace troupe {

/// Gradients of leaf variables, by identity. Iteration gives (variable, gradient) in the order of first arrival.
/// Not safe for several threads at once.
///
/// The gradient of a table of which all uses were asked for rows (EmbeddingOptions::sparse) is kept as rows until
/// somebody asks for the tensor: of() makes it for the caller, begin() for all, once. They come as the pass made them,
/// and are coalesced when sparse_of() asks for them the first time.
class Gradients {
 public:
  using Entry = std::pair<Variable, Tensor>;

  /// The gradient of `leaf`; undefined if none reached it.
  [[nodiscard]] Tensor of(const Variable& leaf) const;

  /// Its rows, coalesced; undefined if none reached it, or not only rows did.
  [[nodiscard]] SparseTensor sparse_of(const Variable& leaf) const;

  /// Adds to what is there for `leaf`. The sum is a new tensor: neither operand is written to.
  void add(const Variable& leaf, const Tensor& gradient);
  void add(const Variable& leaf, const SparseTensor& gradient);

  /// Adds all of `others`: several passes over one graph sum up.
  void add(const Gradients& others);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::vector<Entry>::const_iterator begin() const;
  [[nodiscard]] std::vector<Entry>::const_iterator end() const noexcept { return entries_.end(); }

  /// The leaves in the same order, for who takes rows as they are.
  [[nodiscard]] std::vector<Variable> leaves() const;

 private:
  mutable std::vector<Entry> entries_;                  ///< the tensor is undefined where there are only rows so far
  std::unordered_map<const void*, std::size_t> index_;  ///< places in `entries_`
  mutable std::unordered_map<const void*, SparseTensor> sparse_;  ///< of those that have nothing but rows
};

}  // namespace troupe
