#include "tensor/decompositions/loss_formulas.h"

#include <fmt/format.h>

namespace troupe::detail {

void require_last_dim(std::string_view op, const Shape& shape) {
  if (shape.empty()) throw ShapeError(fmt::format("[{}] no dimension to sum over", op));
}

void require_rows(std::string_view op, const Shape& a, const Shape& b, const Shape& target) {
  Shape rows = a;
  if (!rows.empty()) rows.erase(rows.size() - 1);
  if (!a.empty() && a == b && target == rows) return;
  throw ShapeError(
      fmt::format("[{}] sizes differ: {}, {} and target {}", op, to_string(a), to_string(b), to_string(target)));
}

void require_margins(std::string_view op, const Shape& x, const Shape& target, const MultiMarginLossOptions& options) {
  if (options.p != 1 && options.p != 2) throw ValueError(fmt::format("[{}] p is {}, not 1 or 2", op, options.p));
  const bool fits = x.size() == 1 ? target.empty() || target == Shape{1} : x.size() == 2 && target == Shape{x[0]};
  if (!fits || x.back() == 0) {
    throw ShapeError(fmt::format("[{}] targets do not fit: {} and {}", op, to_string(x), to_string(target)));
  }
  if (options.weight.defined() && options.weight.shape() != Shape{x.back()}) {
    throw ShapeError(
        fmt::format("[{}] weight does not fit: {} for {} classes", op, to_string(options.weight.shape()), x.back()));
  }
}

Shape variance_shape(std::string_view op, const Shape& x, const Tensor& var) {
  Shape rows = x;
  if (!rows.empty()) rows[rows.size() - 1] = 1;
  Shape shape = var.shape();
  if (shape.size() + 1 == rows.size()) shape.push_back(1);
  if (shape != x && shape != rows) {
    throw ShapeError(fmt::format("[{}] variance does not fit: {} for {}", op, to_string(var.shape()), to_string(x)));
  }
  if (any(lt(var, 0.0)).item<bool>()) throw ValueError(fmt::format("[{}] a variance below 0", op));
  return shape;
}

}  // namespace troupe::detail
