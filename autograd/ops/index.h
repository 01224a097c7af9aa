// Overloads of autograd/ops.h whose mask, index or count is a variable. They use its value: masks are boolean, indices
// and counts are integers, so they have no gradient.
#pragma once

#include <cstdint>

#include "autograd/ops.h"

namespace troupe {

[[nodiscard]] inline Variable where(const Variable& condition, const Variable& a, const Variable& b) {
  return where(condition.value(), a, b);
}
[[nodiscard]] inline Variable where(const Variable& condition, const Variable& a, double b) {
  return where(condition.value(), a, b);
}
[[nodiscard]] inline Variable where(const Variable& condition, double a, const Variable& b) {
  return where(condition.value(), a, b);
}
[[nodiscard]] inline Variable masked_fill(const Variable& x, const Variable& mask, double value) {
  return masked_fill(x, mask.value(), value);
}
[[nodiscard]] inline Variable masked_scatter(const Variable& x, const Variable& mask, const Variable& source) {
  return masked_scatter(x, mask.value(), source);
}
[[nodiscard]] inline Variable masked_select(const Variable& x, const Variable& mask) {
  return masked_select(x, mask.value());
}

[[nodiscard]] inline Variable index_select(const Variable& x, int dim, const Variable& index) {
  return index_select(x, dim, index.value());
}
[[nodiscard]] inline Variable gather(const Variable& x, int dim, const Variable& index) {
  return gather(x, dim, index.value());
}
[[nodiscard]] inline Variable scatter_add(const Variable& x, int dim, const Variable& index, const Variable& source) {
  return scatter_add(x, dim, index.value(), source);
}
[[nodiscard]] inline Variable scatter(const Variable& x, int dim, const Variable& index, const Variable& source) {
  return scatter(x, dim, index.value(), source);
}
[[nodiscard]] inline Variable scatter(const Variable& x, int dim, const Variable& index, double value) {
  return scatter(x, dim, index.value(), value);
}
[[nodiscard]] inline Variable take_along_dim(const Variable& x, const Variable& index, int dim) {
  return take_along_dim(x, index.value(), dim);
}
[[nodiscard]] inline Variable index_fill(const Variable& x, int dim, const Variable& index, double value) {
  return index_fill(x, dim, index.value(), value);
}
[[nodiscard]] inline Variable index_copy(const Variable& x, int dim, const Variable& index, const Variable& source) {
  return index_copy(x, dim, index.value(), source);
}
[[nodiscard]] inline Variable index_add(const Variable& x, int dim, const Variable& index, const Variable& source) {
  return index_add(x, dim, index.value(), source);
}
[[nodiscard]] inline Variable embedding(const Variable& weight, const Variable& index,
                                        const EmbeddingOptions& options = {}) {
  return embedding(weight, index.value(), options);
}
[[nodiscard]] inline Variable embedding_bag(const Variable& weight, const Variable& index, const Variable& offsets = {},
                                            const EmbeddingBagOptions& options = {},
                                            const Variable& per_sample_weights = {}) {
  return embedding_bag(weight, index.value(), offsets.defined() ? offsets.value() : Tensor(), options,
                       per_sample_weights);
}
[[nodiscard]] inline Variable repeat_interleave(const Variable& x, const Variable& counts, int dim) {
  return repeat_interleave(x, counts.value(), dim);
}

}  // namespace troupe
