#include <fmt/format.h>

#include "autograd/ops.h"
#include "autograd/record.h"
#include "tensor/create.h"
#include "tensor/decompositions/pad_amounts.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::record;
using Edges = std::span<const Edge>;

/// Returns a backward that copies the gradient into zeros like `x`, at the view of them that `part_of` returns.
template <class PartOf>
auto scatter_into_zeros(const Tensor& x, PartOf part_of) {
  return [shape = x.shape(), part_of](const Tensor& g) {
    Tensor whole = zeros(shape, g.dtype(), g.device());
    Tensor part = part_of(whole);
    part.copy_from(g);
    return whole;
  };
}

/// Returns the backward of an operation that only arranges the same elements in another shape.
auto reshape_back(const Tensor& x) {
  return [shape = x.shape()](const Tensor& g) { return g.reshape(shape); };
}

/// Records the consecutive parts of `x` along `dim` as one operation: its gradient is their concatenation.
std::vector<Variable> record_split(std::string_view name, const Variable& x, std::vector<Tensor> parts, int dim) {
  std::vector<Shape> shapes;
  shapes.reserve(parts.size());
  for (const Tensor& part : parts) shapes.push_back(part.shape());
  return detail::record_parts(
      name, std::move(parts), edges_of({&x}),
      [shapes = std::move(shapes), dim, dtype = x.dtype(), device = x.device()](std::vector<Tensor> gradients) {
        for (std::size_t i = 0; i < shapes.size(); ++i) {
          if (!gradients[i].defined()) gradients[i] = zeros(shapes[i], dtype, device);
        }
        return concat(gradients, dim);
      });
}

/// Returns the gradient by x, of `shape`, from that of its repeat(), one dimension after the other.
Tensor sum_of_repeats(const Tensor& g, const std::vector<std::int64_t>& counts, const Shape& shape) {
  Tensor result = g;
  for (int i = 0; i < g.dim(); ++i) {
    const std::int64_t count = counts[static_cast<std::size_t>(i)];
    if (count == 1) continue;
    const int own = i - (g.dim() - shape.size());
    const Shape around = joined_around(result.shape(), i);
    Shape summed = result.shape();
    summed[i] = own < 0 ? 1 : shape[own];
    result = sum(result.reshape({around[0], count, summed[i], around[2]}), 1).reshape(summed);
  }
  return result.reshape(shape);
}

}  // namespace

Variable reshape(const Variable& x, const Shape& shape) {
  const Tensor value = x.value();
  return record("reshape", value.reshape(shape), edges_of({&x}), reshape_back(value));
}

Variable Variable::view(const Shape& shape) const {
  const Tensor value = this->value();
  return record("view", value.view(shape), edges_of({this}), reshape_back(value));
}

Variable Variable::slice(int dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  return troupe::slice(*this, dim, begin, end, step);
}

Variable Variable::select(int dim, std::int64_t index) const { return troupe::select(*this, dim, index); }

Variable Variable::reshape(const Shape& shape) const { return troupe::reshape(*this, shape); }
Variable Variable::transpose(int dim0, int dim1) const { return troupe::transpose(*this, dim0, dim1); }
Variable Variable::permute(std::initializer_list<int> dims) const { return troupe::permute(*this, dims); }
Variable Variable::squeeze(int dim) const { return troupe::squeeze(*this, dim); }
Variable Variable::unsqueeze(int dim) const { return troupe::unsqueeze(*this, dim); }
Variable Variable::expand(const Shape& shape) const { return troupe::expand(*this, shape); }
Variable Variable::to(DType dtype) const { return cast(*this, dtype); }

Variable Variable::clone() const {
  return record("clone", value().clone(), edges_of({this}), [](const Tensor& g) { return g; });
}

Variable Variable::to(Device device) const {
  const Tensor value = this->value();
  if (value.device() == device) return *this;
  return record("to", value.to(device), edges_of({this}),
                [home = value.device()](const Tensor& g) { return g.to(home); });
}

Variable flatten(const Variable& x, int first_dim, int last_dim) {
  const Tensor value = x.value();
  return record("flatten", flatten(value, first_dim, last_dim), edges_of({&x}), reshape_back(value));
}

Variable squeeze(const Variable& x, int dim) {
  const Tensor value = x.value();
  return record("squeeze", value.squeeze(dim), edges_of({&x}), reshape_back(value));
}

Variable squeeze(const Variable& x) {
  const Tensor value = x.value();
  return record("squeeze", value.squeeze(), edges_of({&x}), reshape_back(value));
}

Variable unsqueeze(const Variable& x, int dim) {
  const Tensor value = x.value();
  return record("unsqueeze", value.unsqueeze(dim), edges_of({&x}), reshape_back(value));
}

Variable transpose(const Variable& x, int dim0, int dim1) {
  return record("transpose", x.value().transpose(dim0, dim1), edges_of({&x}),
                [dim0, dim1](const Tensor& g) { return g.transpose(dim0, dim1); });
}

Variable permute(const Variable& x, std::span<const int> dims) {
  const Tensor value = x.value();
  const Tensor result = value.permute(dims);
  std::vector<int> back(dims.size());
  for (int i = 0; i < value.dim(); ++i) {
    back[static_cast<std::size_t>(normalize_dim("permute", dims[static_cast<std::size_t>(i)], value.shape()))] = i;
  }
  return record("permute", result, edges_of({&x}),
                [back = std::move(back)](const Tensor& g) { return g.permute(back); });
}

Variable permute(const Variable& x, std::initializer_list<int> dims) { return permute(x, std::span<const int>(dims)); }

Variable expand(const Variable& x, const Shape& shape) {
  const Tensor value = x.value();
  return record("expand", value.expand(shape), edges_of({&x}),
                [from = value.shape()](const Tensor& g) { return sum_to(g, from); });
}

Variable slice(const Variable& x, int dim, std::int64_t begin, std::int64_t end, std::int64_t step) {
  const Tensor value = x.value();
  auto part_of = [dim, begin, end, step](const Tensor& whole) { return whole.slice(dim, begin, end, step); };
  return record("slice", part_of(value), edges_of({&x}), scatter_into_zeros(value, part_of));
}

Variable select(const Variable& x, int dim, std::int64_t index) {
  const Tensor value = x.value();
  auto part_of = [dim, index](const Tensor& whole) { return whole.select(dim, index); };
  return record("select", part_of(value), edges_of({&x}), scatter_into_zeros(value, part_of));
}

Variable concat(std::span<const Variable> variables, int dim) {
  const std::vector<Tensor> values = detail::values_of(variables);
  const Tensor result = concat(values, dim);
  const int axis = normalize_dim("concat", dim, result.shape());
  std::vector<std::pair<std::int64_t, DType>> parts;
  parts.reserve(values.size());
  for (const Tensor& value : values) parts.emplace_back(value.size(axis), value.dtype());
  return record("concat", result, edges_of(variables), [parts = std::move(parts), axis](const Tensor& g, Edges to) {
    std::vector<Tensor> gradients(parts.size());
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto [size, dtype] = parts[i];
      if (to[i]) gradients[i] = g.slice(axis, begin, begin + size).to(dtype);
      begin += size;
    }
    return gradients;
  });
}

Variable concat(std::initializer_list<Variable> variables, int dim) {
  return concat(std::span<const Variable>(variables), dim);
}

Variable stack(std::span<const Variable> variables, int dim) {
  const std::vector<Tensor> values = detail::values_of(variables);
  const Tensor result = stack(values, dim);
  const int axis = normalize_dim("stack", dim, result.shape());
  std::vector<DType> dtypes;
  dtypes.reserve(values.size());
  for (const Tensor& value : values) dtypes.push_back(value.dtype());
  return record("stack", result, edges_of(variables), [dtypes = std::move(dtypes), axis](const Tensor& g, Edges to) {
    std::vector<Tensor> gradients(dtypes.size());
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
      if (to[i]) gradients[i] = g.select(axis, static_cast<std::int64_t>(i)).to(dtypes[i]);
    }
    return gradients;
  });
}

Variable stack(std::initializer_list<Variable> variables, int dim) {
  return stack(std::span<const Variable>(variables), dim);
}

Variable narrow(const Variable& x, int dim, std::int64_t start, std::int64_t length) {
  const Tensor value = x.value();
  auto part_of = [dim, start, length](const Tensor& whole) { return narrow(whole, dim, start, length); };
  return record("narrow", part_of(value), edges_of({&x}), scatter_into_zeros(value, part_of));
}

std::vector<Variable> split(const Variable& x, std::int64_t size, int dim) {
  const Tensor value = x.value();
  return record_split("split", x, split(value, size, dim), dim);
}

std::vector<Variable> split_with_sizes(const Variable& x, const std::vector<std::int64_t>& sizes, int dim) {
  const Tensor value = x.value();
  return record_split("split_with_sizes", x, split_with_sizes(value, sizes, dim), dim);
}

std::vector<Variable> chunk(const Variable& x, std::int64_t count, int dim) {
  const Tensor value = x.value();
  return record_split("chunk", x, chunk(value, count, dim), dim);
}

Variable flip(const Variable& x, const Axes& axes) {
  return record("flip", flip(x.value(), axes), edges_of({&x}), [axes](const Tensor& g) { return flip(g, axes); });
}

Variable roll(const Variable& x, std::int64_t shift, int dim) {
  const Tensor value = x.value();
  const Tensor result = roll(value, shift, dim);
  const std::int64_t size = value.size(dim);
  const std::int64_t back = size == 0 ? 0 : size - shift % size;
  return record("roll", result, edges_of({&x}), [back, dim](const Tensor& g) { return roll(g, back, dim); });
}

Variable roll(const Variable& x, const std::vector<std::int64_t>& shifts, const Axes& dims) {
  if (shifts.size() != dims.values().size()) {
    throw ShapeError(fmt::format("[roll] {} shifts for {} dimensions", shifts.size(), dims.values().size()));
  }
  Variable result = reshape(x, x.shape());
  for (std::size_t i = 0; i < shifts.size(); ++i) result = roll(result, shifts[i], dims.values()[i]);
  return result;
}

Variable roll(const Variable& x, std::int64_t shift) { return reshape(roll(reshape(x, {-1}), shift, 0), x.shape()); }

Variable repeat(const Variable& x, const std::vector<std::int64_t>& counts) {
  const Tensor value = x.value();
  const Tensor result = repeat(value, counts);
  return record("repeat", result, edges_of({&x}), [shape = value.shape(), counts](const Tensor& g) {
    if (2 * g.dim() > kDimsMax) return sum_of_repeats(g, counts, shape);
    Shape spread;  // for each dimension its count, then its size
    std::vector<int> over;
    for (int i = 0; i < g.dim(); ++i) {
      const std::int64_t count = counts[static_cast<std::size_t>(i)];
      const int own = i - (g.dim() - shape.size());
      over.push_back(2 * i);
      spread.push_back(count);
      spread.push_back(own < 0 ? 1 : shape[own]);
    }
    return sum(g.reshape(spread), Axes(over)).reshape(shape);
  });
}

Variable pad(const Variable& x, const std::vector<std::int64_t>& amounts, double value) {
  std::vector<std::int64_t> back = amounts;
  for (std::int64_t& amount : back) amount = -amount;
  return record("pad", pad(x.value(), amounts, value), edges_of({&x}),
                [back = std::move(back)](const Tensor& g) { return pad(g, back); });
}

Variable pad(const Variable& x, const std::vector<std::int64_t>& amounts, PadMode mode) {
  Variable padded = x;
  for (const auto& [dim, before, after] : detail::pad_amounts(x.value(), amounts)) {
    padded = index_select(padded, dim, detail::padded_places(padded.value(), dim, before, after, mode));
  }
  return padded;
}

Variable tril(const Variable& x, std::int64_t diagonal) {
  return record("tril", tril(x.value(), diagonal), edges_of({&x}),
                [diagonal](const Tensor& g) { return tril(g, diagonal); });
}

Variable triu(const Variable& x, std::int64_t diagonal) {
  return record("triu", triu(x.value(), diagonal), edges_of({&x}),
                [diagonal](const Tensor& g) { return triu(g, diagonal); });
}

}  // namespace troupe
