#include "actors/pipeline/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/ops.h"
#include "tensor/error.h"
#include "tensor/ops.h"

namespace troupe::detail {
namespace {

template <class T>
std::optional<std::int64_t> rows(const T& value, const std::string& what) {
  if (!value.defined()) return std::nullopt;
  if (value.shape().size() == 0) {
    throw ShapeError(fmt::format("[Pipeline] {} has no dimension to split: give it as NoChunk", what));
  }
  return value.shape()[0];
}

template <class T>
std::vector<T> parts(const T& value, const std::vector<std::int64_t>& sizes) {
  if (!value.defined()) return std::vector<T>(sizes.size());
  return split_with_sizes(value, sizes, 0);
}

template <class T>
T concatenated(const std::vector<T>& all, const std::string& what) {
  const auto defined = std::ranges::count_if(all, [](const T& part) { return part.defined(); });
  if (defined == 0) return T();
  if (defined != std::ssize(all)) {
    throw TensorError(fmt::format("[Pipeline] {} is undefined in some micro-batches only", what));
  }
  for (const T& part : all) {
    if (part.shape().size() == 0) throw ShapeError(fmt::format("[Pipeline] {} has no rows to join", what));
  }
  return concat(all, 0);
}

}  // namespace

std::optional<std::int64_t> rows_of(const Tensor& value, const std::string& what) { return rows(value, what); }
std::optional<std::int64_t> rows_of(const Variable& value, const std::string& what) { return rows(value, what); }

std::vector<Tensor> parts_of(const Tensor& value, const std::vector<std::int64_t>& sizes) {
  return parts(value, sizes);
}
std::vector<Variable> parts_of(const Variable& value, const std::vector<std::int64_t>& sizes) {
  return parts(value, sizes);
}

Tensor joined_value(const std::vector<Tensor>& parts, const std::string& what) { return concatenated(parts, what); }
Variable joined_value(const std::vector<Variable>& parts, const std::string& what) { return concatenated(parts, what); }

void fail_not_equal(const std::string& what) {
  throw std::invalid_argument(fmt::format("[Pipeline] {} is not the same in all micro-batches", what));
}

}  // namespace troupe::detail
