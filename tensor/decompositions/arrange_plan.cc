#include "tensor/decompositions/arrange_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tensor/error.h"

namespace troupe::detail {
namespace {

// Returns `dims` counted from the front. Throws ShapeError if a dimension is given twice.
std::vector<int> distinct_dims(std::string_view op, const Shape& shape, const Axes& dims) {
  std::vector<int> result;
  for (const int given : dims.values()) {
    const int dim = normalize_dim(op, given, shape);
    if (std::ranges::find(result, dim) != result.end())
      throw ShapeError(fmt::format("[{}] dimension given twice: {}", op, given));
    result.push_back(dim);
  }
  return result;
}

}  // namespace

std::vector<int> moved_dims(const Shape& shape, const Axes& from, const Axes& to) {
  constexpr std::string_view kName = "movedim";
  const std::vector<int> sources = distinct_dims(kName, shape, from);
  const std::vector<int> places = distinct_dims(kName, shape, to);
  if (sources.size() != places.size()) {
    throw ShapeError(fmt::format("[{}] {} dimensions to {} places", kName, sources.size(), places.size()));
  }
  constexpr int kFree = -1;
  std::vector<int> dims(static_cast<std::size_t>(shape.size()), kFree);
  for (std::size_t i = 0; i < sources.size(); ++i) dims[static_cast<std::size_t>(places[i])] = sources[i];
  int next = 0;  // the next dimension that is not moved
  for (int& dim : dims) {
    if (dim != kFree) continue;
    while (std::ranges::find(sources, next) != sources.end()) ++next;
    dim = next++;
  }
  return dims;
}

Shape unflattened(const Shape& shape, int dim, const Shape& sizes) {
  const int at = normalize_dim("unflatten", dim, shape);
  const auto refuse = [&] { throw ShapeError(fmt::format("[unflatten] {} into {}", shape[at], to_string(sizes))); };
  Shape whole = sizes;
  const auto open = static_cast<int>(std::ranges::find(sizes, std::int64_t{-1}) - sizes.begin());
  const bool is_open = open < sizes.size();
  if (is_open) whole[open] = 1;
  if (sizes.empty() || std::ranges::any_of(whole, [](std::int64_t size) { return size < 0; })) refuse();
  const std::int64_t known = whole.numel();
  if (is_open && known > 0) whole[open] = shape[at] / known;
  if (whole.numel() != shape[at]) refuse();
  Shape result = shape;
  result.erase(at);
  for (int i = 0; i < whole.size(); ++i) result.insert(at + i, whole[i]);
  return result;
}

Tensor repeated_places(const Tensor& counts, std::int64_t parts) {
  constexpr std::string_view kName = "repeat_interleave";
  counts.require_defined(kName);
  if (counts.dtype() != DType::i64 && counts.dtype() != DType::i32) {
    throw DTypeError(fmt::format("[{}] counts are {}, not i64 or i32", kName, name_of(counts.dtype())));
  }
  const bool one_for_all = counts.numel() == 1 && parts != 1;
  if (counts.dim() > 1 || (!one_for_all && counts.numel() != parts)) {
    throw ShapeError(fmt::format("[{}] {} counts for {} parts", kName, counts.numel(), parts));
  }
  const Tensor here = counts.to(Device::cpu()).to(DType::i64).contiguous();
  const auto count_of = [elements = here.data<std::int64_t>(), one_for_all](std::int64_t i) {
    return elements[one_for_all ? 0 : static_cast<std::size_t>(i)];
  };
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    if (count_of(i) < 0) throw ValueError(fmt::format("[{}] count below 0: {}", kName, count_of(i)));
    if (__builtin_add_overflow(total, count_of(i), &total))
      throw ValueError(fmt::format("[{}] more than 2^63 - 1 parts", kName));
  }
  Tensor places = Tensor::empty({total}, DType::i64);
  std::int64_t* next = places.mutable_data<std::int64_t>().data();
  for (std::int64_t i = 0; i < parts; ++i) next = std::fill_n(next, count_of(i), i);
  return places.to(counts.device());
}

std::vector<std::int64_t> tile_counts(const std::vector<std::int64_t>& counts, int rank) {
  std::vector<std::int64_t> result = counts;
  if (result.size() < static_cast<std::size_t>(rank))
    result.insert(result.begin(), static_cast<std::size_t>(rank) - result.size(), 1);
  return result;
}

}  // namespace troupe::detail
