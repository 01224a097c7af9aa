#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/create.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::Saved;
using Edges = std::span<const Edge>;

/// Backward of elements taken along `dim` from the places that `index` names: each goes back to its own.
auto put_back(const Tensor& x, int dim, const Tensor& index) {
  return [shape = x.shape(), dim, index = Saved(index)](const Tensor& g) {
    return scatter_add(zeros(shape, g.dtype(), g.device()), dim, index.get(), g);
  };
}

/// `x` with zeros after it, up to `shape`.
Tensor padded_to(const Shape& shape, const Tensor& x) {
  std::vector<std::int64_t> amounts;
  for (int i = shape.size() - 1; i >= 0; --i) {
    amounts.push_back(0);
    amounts.push_back(shape[i] - x.shape()[i]);
  }
  return pad(x, amounts);
}

/// Values in order, whose gradients go back to where they were.
SortedVariables record_sorted(std::string_view name, const Variable& x, const Sorted& sorted, int dim) {
  return {record(name, sorted.values, edges_of({&x}), put_back(x.value(), dim, sorted.indices)), sorted.indices};
}

}  // namespace

Variable index_select(const Variable& x, int dim, const Tensor& index) {
  const Tensor value = x.value();
  return record("index_select", index_select(value, dim, index), edges_of({&x}),
                [shape = value.shape(), dim, index = Saved(index)](const Tensor& g) {
                  return index_select_backward(g, dim, index.get(), shape);
                });
}

Variable gather(const Variable& x, int dim, const Tensor& index) {
  const Tensor value = x.value();
  return record("gather", gather(value, dim, index), edges_of({&x}), put_back(value, dim, index));
}

Variable scatter_add(const Variable& x, int dim, const Tensor& index, const Variable& source) {
  const Tensor added = source.value();
  return record("scatter_add", scatter_add(x.value(), dim, index, added), edges_of({&x, &source}),
                [shape = added.shape(), dim, index = Saved(index)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = g;
                  if (to[1]) gradients[1] = padded_to(shape, gather(g, dim, index.get()));
                  return gradients;
                });
}

Variable index_add(const Variable& x, int dim, const Tensor& index, const Variable& source) {
  return record("index_add", index_add(x.value(), dim, index, source.value()), edges_of({&x, &source}),
                [dim, index = Saved(index)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = g;
                  if (to[1]) gradients[1] = index_select(g, dim, index.get());
                  return gradients;
                });
}

Variable masked_select(const Variable& x, const Tensor& mask) {
  const Tensor value = x.value();
  return record("masked_select", masked_select(value, mask), edges_of({&x}), [from = value.shape(), mask = Saved(mask)](const Tensor& g) {
    const Shape shape = broadcast_shapes("masked_select", from, mask.get().shape());
    const Shape line{shape.numel()};
    const Tensor places = nonzero(mask.get().expand(shape).reshape(line));
    return sum_to(index_select_backward(g, 0, places.reshape({places.numel()}), line).reshape(shape), from);
  });
}

Variable masked_fill(const Variable& x, const Tensor& mask, double value) {
  return record("masked_fill", masked_fill(x.value(), mask, value), edges_of({&x}),
                [mask = Saved(mask)](const Tensor& g) { return masked_fill(g, mask.get(), 0.0); });
}

SortedVariables sort(const Variable& x, int dim, Order order) {
  return record_sorted("sort", x, sort(x.value(), dim, order), dim);
}

SortedVariables topk(const Variable& x, std::int64_t k, int dim, Order order) {
  return record_sorted("topk", x, topk(x.value(), k, dim, order), dim);
}

}  // namespace troupe
