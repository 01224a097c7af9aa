// Diagonals, moved and split dimensions, repetition and grids of variables. Names, shapes, dtypes and errors are those
// of tensor/ops/arrange.h. The value is a view where the tensor operation returns one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/variable.h"
#include "tensor/ops/arrange.h"

namespace troupe {

[[nodiscard]] Variable diagonal(const Variable& x, std::int64_t offset = 0, int dim0 = 0, int dim1 = 1);
[[nodiscard]] Variable diag_embed(const Variable& x, std::int64_t offset = 0, int dim0 = -2, int dim1 = -1);
[[nodiscard]] Variable diag(const Variable& x, std::int64_t offset = 0);
[[nodiscard]] Variable trace(const Variable& x);

[[nodiscard]] std::vector<Variable> unbind(const Variable& x, int dim = 0);
[[nodiscard]] Variable movedim(const Variable& x, const Axes& from, const Axes& to);
[[nodiscard]] Variable unflatten(const Variable& x, int dim, const Shape& sizes);
[[nodiscard]] Variable expand_as(const Variable& x, const Variable& other);
[[nodiscard]] Variable broadcast_to(const Variable& x, const Shape& shape);

[[nodiscard]] Variable tile(const Variable& x, const std::vector<std::int64_t>& counts);
[[nodiscard]] Variable repeat_interleave(const Variable& x, std::int64_t count, int dim);
[[nodiscard]] Variable repeat_interleave(const Variable& x, const Tensor& counts, int dim);
[[nodiscard]] Variable vstack(std::span<const Variable> variables);
[[nodiscard]] Variable hstack(std::span<const Variable> variables);
[[nodiscard]] std::vector<Variable> meshgrid(std::span<const Variable> vectors, MeshOrder order = MeshOrder::ij);
[[nodiscard]] Variable diff(const Variable& x, std::int64_t n = 1, int dim = -1);

}  // namespace troupe
