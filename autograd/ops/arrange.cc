#include "autograd/ops/arrange.h"

#include <utility>

#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/create.h"
#include "tensor/decompositions/arrange_plan.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;

/// Returns `variables` with dimensions of size 1 prepended, so that each has at least `rank` dimensions.
std::vector<Variable> with_rank(std::span<const Variable> variables, int rank) {
  std::vector<Variable> raised = detail::one_version_of(variables);
  for (Variable& variable : raised) {
    while (variable.shape().size() < rank) variable = unsqueeze(variable, 0);
  }
  return raised;
}

}  // namespace

Variable diagonal(const Variable& x, std::int64_t offset, int dim0, int dim1) {
  const Tensor value = x.value();
  return record("diagonal", diagonal(value, offset, dim0, dim1), edges_of({&x}),
                [shape = value.shape(), offset, dim0, dim1](const Tensor& g) {
                  Tensor whole = zeros(shape, g.dtype(), g.device());
                  diagonal(whole, offset, dim0, dim1).copy_from(g);
                  return whole;
                });
}

Variable diag_embed(const Variable& x, std::int64_t offset, int dim0, int dim1) {
  return record("diag_embed", diag_embed(x.value(), offset, dim0, dim1), edges_of({&x}),
                [offset, dim0, dim1](const Tensor& g) { return diagonal(g, offset, dim0, dim1); });
}

Variable diag(const Variable& x, std::int64_t offset) {
  const Tensor value = x.value();
  return record("diag", diag(value, offset), edges_of({&x}), [shape = value.shape(), offset](const Tensor& g) {
    if (shape.size() == 1) return diagonal(g, offset);
    Tensor whole = zeros(shape, g.dtype(), g.device());
    diagonal(whole, offset).copy_from(g);
    return whole;
  });
}

Variable trace(const Variable& x) {
  const Tensor value = x.value();
  return record("trace", trace(value), edges_of({&x}), [shape = value.shape()](const Tensor& g) {
    Tensor whole = zeros(shape, g.dtype(), g.device());
    diagonal(whole).copy_from(g);
    return whole;
  });
}

std::vector<Variable> unbind(const Variable& x, int dim) {
  const Tensor value = x.value();
  Shape part = value.shape();
  std::vector<Tensor> parts = unbind(value, dim);
  const int at = normalize_dim("unbind", dim, part);
  part.erase(at);
  return detail::record_parts("unbind", std::move(parts), edges_of({&x}),
                              [part, at, dtype = x.dtype(), device = x.device()](std::vector<Tensor> gradients) {
                                for (Tensor& gradient : gradients) {
                                  if (!gradient.defined()) gradient = zeros(part, dtype, device);
                                }
                                return stack(gradients, at);
                              });
}

Variable movedim(const Variable& x, const Axes& from, const Axes& to) {
  return permute(x, detail::moved_dims(x.shape(), from, to));
}

Variable unflatten(const Variable& x, int dim, const Shape& sizes) {
  return reshape(x, detail::unflattened(x.shape(), dim, sizes));
}

Variable expand_as(const Variable& x, const Variable& other) { return expand(x, other.shape()); }

Variable broadcast_to(const Variable& x, const Shape& shape) { return expand(x, shape); }

Variable tile(const Variable& x, const std::vector<std::int64_t>& counts) {
  return repeat(x, detail::tile_counts(counts, x.shape().size()));
}

Variable repeat_interleave(const Variable& x, std::int64_t count, int dim) {
  const Tensor value = x.value();
  return record("repeat_interleave", repeat_interleave(value, count, dim), edges_of({&x}),
                [shape = value.shape(), count, dim](const Tensor& g) {
                  const int at = normalize_dim("repeat_interleave", dim, shape);
                  Shape apart = shape;
                  apart.insert(at + 1, count);
                  return sum(g.reshape(apart), at + 1);
                });
}

Variable repeat_interleave(const Variable& x, const Tensor& counts, int dim) {
  const Shape shape = x.shape();
  const int at = normalize_dim("repeat_interleave", dim, shape);
  return index_select(x, at, detail::repeated_places(counts, shape[at]));
}

Variable vstack(std::span<const Variable> variables) { return concat(with_rank(variables, 2), 0); }

Variable hstack(std::span<const Variable> variables) {
  const std::vector<Variable> raised = with_rank(variables, 1);
  return concat(raised, raised.empty() || raised.front().shape().size() == 1 ? 0 : 1);
}

std::vector<Variable> meshgrid(std::span<const Variable> vectors, MeshOrder order) {
  const std::vector<Variable> inputs = detail::one_version_of(vectors);
  const std::vector<Tensor> grids = meshgrid(detail::values_of(inputs), order);
  const int rank = static_cast<int>(grids.size());
  std::vector<Variable> result;
  for (int i = 0; i < rank; ++i) {
    const Variable& x = inputs[static_cast<std::size_t>(i)];
    const int along = order == MeshOrder::xy && i < 2 && rank > 1 ? 1 - i : i;
    const Shape& shape = grids[static_cast<std::size_t>(i)].shape();
    Shape line(std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1));
    line[along] = shape[along];
    result.push_back(expand(reshape(x, line), shape));
  }
  return result;
}

Variable diff(const Variable& x, std::int64_t n, int dim) {
  const Tensor value = x.value();
  const Tensor result = diff(value, n, dim);
  const int at = normalize_dim("diff", dim, result.shape());
  const std::int64_t times = value.shape()[at] - result.shape()[at];  // less than n if no elements remained
  return record("diff", result, edges_of({&x}), [times, at](const Tensor& gradient) {
    // A difference adds its gradient to the later element and subtracts it from the earlier one.
    std::vector<std::int64_t> after(static_cast<std::size_t>(2 * (gradient.dim() - at)), 0);
    std::vector<std::int64_t> before = after;
    after[after.size() - 2] = 1;
    before[before.size() - 1] = 1;
    Tensor g = gradient;
    for (std::int64_t i = 0; i < times; ++i) g = sub(pad(g, after), pad(g, before));
    return g;
  });
}

}  // namespace troupe
