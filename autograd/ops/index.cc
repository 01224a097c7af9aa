#include "autograd/one_version.h"
#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/create.h"
#include "tensor/decompositions/index_plan.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using detail::Saved;
using Edges = std::span<const Edge>;

/// Returns the backward of elements taken along `dim` at `index`: it adds each gradient at its element's place.
auto put_back(const Tensor& x, int dim, const Tensor& index) {
  return [shape = x.shape(), dim, index = Saved(index)](const Tensor& g) {
    return scatter_add(zeros(shape, g.dtype(), g.device()), dim, index.get(), g);
  };
}

/// Returns `x` padded with zeros at the end, up to `shape`.
Tensor padded_to(const Shape& shape, const Tensor& x) {
  std::vector<std::int64_t> amounts;
  for (int i = shape.size() - 1; i >= 0; --i) {
    amounts.push_back(0);
    amounts.push_back(shape[i] - x.shape()[i]);
  }
  return pad(x, amounts);
}

/// Returns the gradients by the elements that scatter wrote into `shape` at `index`, from the gradient `g` of the
/// result; 0 for elements that a later one overwrote.
Tensor gradient_of_last(const Tensor& g, int dim, const Tensor& index) {
  const Tensor numbers = arange(index.numel()).view(index.shape()).to(g.device());
  const Tensor last = scatter(zeros(g.shape(), DType::i64, g.device()), dim, index, numbers);
  return masked_fill(gather(g, dim, index), ne(gather(last, dim, index), numbers), 0.0);
}

/// Records sorted values: their gradients return to the original places.
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
  const auto [base, added] = detail::values_of(x, source);
  return record("scatter_add", scatter_add(base, dim, index, added), edges_of({&x, &source}),
                [shape = added.shape(), dim, index = Saved(index)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = g;
                  if (to[1]) gradients[1] = padded_to(shape, gather(g, dim, index.get()));
                  return gradients;
                });
}

Variable scatter(const Variable& x, int dim, const Tensor& index, const Variable& source) {
  const auto [base, from] = detail::values_of(x, source);
  return record("scatter", scatter(base, dim, index, from), edges_of({&x, &source}),
                [shape = from.shape(), dim, index = Saved(index)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = scatter(g, dim, index.get(), 0.0);
                  if (to[1]) gradients[1] = padded_to(shape, gradient_of_last(g, dim, index.get()));
                  return gradients;
                });
}

Variable scatter(const Variable& x, int dim, const Tensor& index, double value) {
  return record("scatter", scatter(x.value(), dim, index, value), edges_of({&x}),
                [dim, index = Saved(index)](const Tensor& g) { return scatter(g, dim, index.get(), 0.0); });
}

Variable take_along_dim(const Variable& x, const Tensor& index, int dim) {
  const detail::TakeShapes shapes = detail::take_along_shapes(x.shape(), index.shape(), dim);
  return gather(expand(x, shapes.x), dim, index.expand(shapes.index));
}

Variable index_fill(const Variable& x, int dim, const Tensor& index, double value) {
  return masked_fill(x, detail::parts_mask("index_fill", x.value(), dim, index), value);
}

Variable index_copy(const Variable& x, int dim, const Tensor& index, const Variable& source) {
  return scatter(x, dim, detail::copy_places(x.value(), dim, index, source.value()), source);
}

Variable masked_scatter(const Variable& x, const Tensor& mask, const Variable& source) {
  const auto [base, from] = detail::one_version_of(x, source);
  const Tensor places = detail::mask_places(base.value(), mask, from.value());
  if (!places.defined()) return masked_fill(base, mask, 0.0);
  const Variable chosen = index_select(reshape(from, {from.shape().numel()}), 0, places);
  return where(mask, reshape(chosen, base.shape()), base);
}

Variable index_add(const Variable& x, int dim, const Tensor& index, const Variable& source) {
  const auto [base, added] = detail::values_of(x, source);
  return record("index_add", index_add(base, dim, index, added), edges_of({&x, &source}),
                [dim, index = Saved(index)](const Tensor& g, Edges to) {
                  std::vector<Tensor> gradients(2);
                  if (to[0]) gradients[0] = g;
                  if (to[1]) gradients[1] = index_select(g, dim, index.get());
                  return gradients;
                });
}

Variable masked_select(const Variable& x, const Tensor& mask) {
  const Tensor value = x.value();
  return record("masked_select", masked_select(value, mask), edges_of({&x}),
                [from = value.shape(), mask = Saved(mask)](const Tensor& g) {
                  const Shape shape = broadcast_shapes("masked_select", from, mask.get().shape());
                  const Shape line{shape.numel()};
                  const Tensor places = nonzero(mask.get().expand(shape).reshape(line));
                  return sum_to(index_select_backward(g, 0, places.reshape({places.numel()}), line).reshape(shape),
                                from);
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

SortedVariables cummax(const Variable& x, int dim) { return record_sorted("cummax", x, cummax(x.value(), dim), dim); }

SortedVariables cummin(const Variable& x, int dim) { return record_sorted("cummin", x, cummin(x.value(), dim), dim); }

}  // namespace troupe
