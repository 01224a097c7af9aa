#include "tensor/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "tensor/create.h"
#include "tensor/kernels/coalesce.h"
#include "tensor/kernels/table.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/checks.h"
#include "tensor/ops/index.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/rvalue.h"
#include "tensor/ops/shape.h"

namespace troupe {
namespace {

/// Returns the number of places along the first `dims` dimensions.
std::int64_t places_in(const Shape& shape, int dims) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(dims))).numel();
}

/// Returns (first, dimensions of `shape` from `from` on).
Shape with_rest(std::int64_t first, const Shape& shape, int from) {
  Shape with{first};
  for (int i = from; i < shape.size(); ++i) with.push_back(shape[i]);
  return with;
}

Tensor from_numbers(const std::vector<std::int64_t>& numbers, const Shape& shape) {
  return from_values<std::int64_t>(std::span<const std::int64_t>(numbers), shape);
}

/// Returns the indices (dims, n) of `places` (n), which are row-major numbers. Runs on the CPU if dims > 1.
Tensor columns_of(const Tensor& places, const Shape& shape, int dims) {
  if (dims == 1) return places.unsqueeze(0);
  const Tensor here = places.to(Device::cpu());
  const auto numbers = here.data<std::int64_t>();
  std::vector<std::int64_t> columns(static_cast<std::size_t>(dims) * numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    std::int64_t rest = numbers[i];
    for (int d = dims - 1; d >= 0; --d) {
      columns[static_cast<std::size_t>(d) * numbers.size() + i] = rest % shape[d];
      rest /= shape[d];
    }
  }
  return from_numbers(columns, {dims, places.numel()}).to(places.device());
}

/// Throws IndexError unless all numbers are in [0, size).
void check_range(const Tensor& indices, std::int64_t size) {
  constexpr const char* kName = "SparseTensor";
  if (kernels::on_gpu(indices)) {
    static_cast<void>(detail::checked_index(kName, indices, size));
    return;
  }
  const auto numbers = indices.data<std::int64_t>();
  // A number is outside if the highest bit of the number or of `last - number` is set.
  const std::uint64_t last = static_cast<std::uint64_t>(size) - 1;
  std::uint64_t outside = 0;
  for (const std::int64_t number : numbers) {
    const auto bits = static_cast<std::uint64_t>(number);
    outside |= bits | (last - bits);
  }
  if (outside >> 63U == 0) return;
  const auto first =
      std::ranges::find_if(numbers, [size](std::int64_t number) { return number < 0 || number >= size; });
  throw IndexError(fmt::format("[{}] index out of range: {} of {}", kName, *first, size));
}

}  // namespace

SparseTensor::SparseTensor(Tensor indices, Tensor values, const Shape& shape) : shape_(shape) {
  constexpr const char* kName = "SparseTensor";
  indices.require_defined(kName);
  values.require_defined(kName);
  detail::require_together(kName, indices, values);
  static_cast<void>(shape.numel());
  if (indices.dtype() != DType::i64)
    throw DTypeError(fmt::format("[{}] indices are {}, not i64", kName, name_of(indices.dtype())));
  if (indices.dim() != 2 || indices.size(0) < 1 || indices.size(0) > shape.size()) {
    throw ShapeError(fmt::format("[{}] indices of shape {} for a tensor of shape {}", kName, to_string(indices.shape()),
                                 to_string(shape)));
  }
  const auto dims = static_cast<int>(indices.size(0));
  if (const Shape expected = with_rest(indices.size(1), shape, dims); values.shape() != expected) {
    throw ShapeError(
        fmt::format("[{}] values of shape {}, expected {}", kName, to_string(values.shape()), to_string(expected)));
  }
  indices_ = indices.contiguous();
  values_ = std::move(values);
  for (int d = 0; d < dims; ++d) check_range(indices_.select(0, d), shape[d]);
}

SparseTensor SparseTensor::from_dense(const Tensor& x, int dims) {
  x.require_defined("from_dense");
  if (dims < 1 || dims > x.dim())
    throw ShapeError(fmt::format("[from_dense] {} dimensions of {}", dims, to_string(x.shape())));
  const std::int64_t places = places_in(x.shape(), dims);
  const Tensor parts = x.contiguous().view(with_rest(places, x.shape(), dims));
  const std::int64_t width = places == 0 ? 0 : x.numel() / places;
  const Tensor found = sum(ne(parts.view({places, width}), 0.0).to(DType::i64), 1).to(Device::cpu());
  std::vector<std::int64_t> stored;
  for (std::int64_t place = 0; const std::int64_t others : found.data<std::int64_t>()) {
    if (others > 0) stored.push_back(place);
    ++place;
  }
  const Tensor numbers = from_numbers(stored, {static_cast<std::int64_t>(stored.size())}).to(x.device());
  SparseTensor sparse(columns_of(numbers, x.shape(), dims), index_select(parts, 0, numbers), x.shape());
  sparse.coalesced_ = true;
  return sparse;
}

/// Returns the place of each part as a row-major number, (count).
Tensor SparseTensor::places() const {
  if (sparse_dim() == 1) return indices_.view({count()});
  const Tensor here = indices_.to(Device::cpu());
  const auto numbers = here.data<std::int64_t>();
  const auto parts = static_cast<std::size_t>(count());
  std::vector<std::int64_t> places(parts, 0);
  for (int d = 0; d < sparse_dim(); ++d) {
    for (std::size_t i = 0; i < parts; ++i)
      places[i] = places[i] * shape_[d] + numbers[static_cast<std::size_t>(d) * parts + i];
  }
  return from_numbers(places, {count()}).to(indices_.device());
}

SparseTensor SparseTensor::coalesce() const {
  if (!defined() || coalesced_) return *this;
  if (dtype() == DType::boolean) throw DTypeError("[coalesce] not defined for boolean");
  const Tensor all = places();
  if (kernels_of(all).ascends(all)) {
    SparseTensor same = *this;
    same.coalesced_ = true;
    return same;
  }
  // Sums in the compute dtype, so that several parts at one place are rounded once.
  const Tensor parts = values_.to(compute_dtype(dtype())).contiguous();
  const Tensor rows = parts.view({count(), parts.numel() / count()});
  const kernels::SummedRows sums = kernels_of(rows).sum_by_number(all, rows, places_in(shape_, sparse_dim()));
  const Shape summed = with_rest(sums.numbers.numel(), shape_, sparse_dim());
  SparseTensor result(columns_of(sums.numbers, shape_, sparse_dim()), sums.rows.view(summed).to(dtype()), shape_);
  result.coalesced_ = true;
  return result;
}

Tensor SparseTensor::to_dense() const {
  indices_.require_defined("to_dense");
  const Shape parts = with_rest(places_in(shape_, sparse_dim()), shape_, sparse_dim());
  return index_select_backward(values_, 0, places(), parts).view(shape_);
}

SparseTensor SparseTensor::as_coalesced() const {
  const Tensor all = places();
  if (!kernels_of(all).ascends(all)) throw ValueError("[coalesced] places are not ascending");
  SparseTensor result = *this;
  result.coalesced_ = true;
  return result;
}

SparseTensor add(std::span<const SparseTensor> parts) {
  if (parts.empty()) throw ValueError("[add] no tensors");
  std::vector<Tensor> indices;
  std::vector<Tensor> values;
  const SparseTensor& first = parts.front();
  for (const SparseTensor& part : parts) {
    part.indices().require_defined("add");
    if (part.shape() != first.shape() || part.sparse_dim() != first.sparse_dim()) {
      throw ShapeError(
          fmt::format("[add] shapes differ: {} and {}", to_string(first.shape()), to_string(part.shape())));
    }
    detail::require_same_dtype("add", first.values(), part.values());
    indices.push_back(part.indices());
    values.push_back(part.values());
  }
  return SparseTensor(concat(indices, 1), concat(values, 0), first.shape());
}

}  // namespace troupe
