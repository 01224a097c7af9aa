#include "tensor/decompositions/layer_formulas.h"

#include <fmt/format.h>

#include <span>

#include "tensor/error.h"

namespace troupe::detail {
namespace {

Shape rows_of(const Shape& shape) {
  return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.size() - 1)));
}

}  // namespace

Shape bilinear_shape(const Shape& a, const Shape& b, const Shape& weight) {
  const bool has_sizes =
      weight.size() == 3 && !a.empty() && !b.empty() && a.back() == weight[1] && b.back() == weight[2];
  if (!has_sizes || rows_of(a) != rows_of(b)) {
    throw ShapeError(
        fmt::format("[bilinear] sizes differ: {} and {}, weight {}", to_string(a), to_string(b), to_string(weight)));
  }
  Shape shape = rows_of(a);
  shape.push_back(weight[0]);
  return shape;
}

void require_channels_around(const Shape& shape, std::int64_t size) {
  if (shape.size() < 3)
    throw ShapeError(fmt::format("[local_response_norm] not (n, channels, ...): {}", to_string(shape)));
  if (size < 1) throw ValueError(fmt::format("[local_response_norm] size below 1: {}", size));
}

}  // namespace troupe::detail
