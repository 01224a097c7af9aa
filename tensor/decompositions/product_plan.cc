#include "tensor/decompositions/product_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "tensor/error.h"

namespace troupe::detail {
namespace {

constexpr std::string_view kCdist = "cdist";
constexpr std::string_view kTensordot = "tensordot";

std::vector<int> front_dims(const Shape& shape, const Axes& axes) {
  std::vector<int> dims;
  for (const int axis : axes.values()) {
    const int dim = normalize_dim(kTensordot, axis, shape);
    if (std::ranges::find(dims, dim) != dims.end())
      throw ShapeError(fmt::format("[{}] dimension given twice: {}", kTensordot, axis));
    dims.push_back(dim);
  }
  return dims;
}

// Returns the i-th label for einsum. 52 letters suffice: tensors have 16 dimensions at most.
char label(int i) { return static_cast<char>(i < 26 ? 'a' + i : 'A' + (i - 26)); }

// Returns `shape` with leading ones, up to `rank` dimensions.
Shape with_rank(Shape shape, int rank) {
  while (shape.size() < rank) shape.insert(0, 1);
  return shape;
}

}  // namespace

std::string tensordot_equation(const Shape& a, const Shape& b, const Axes& a_axes, const Axes& b_axes) {
  const std::vector<int> left = front_dims(a, a_axes);
  const std::vector<int> right = front_dims(b, b_axes);
  if (left.size() != right.size())
    throw ShapeError(fmt::format("[{}] {} axes and {}", kTensordot, left.size(), right.size()));
  std::string a_labels;
  std::string b_labels;
  for (int i = 0; i < a.size(); ++i) a_labels.push_back(label(i));
  for (int i = 0; i < b.size(); ++i) b_labels.push_back(label(a.size() + i));
  std::string result = a_labels + b_labels;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (a[left[i]] != b[right[i]]) {
      throw ShapeError(fmt::format("[{}] sizes differ: {} along {} and {} along {}", kTensordot, a[left[i]], left[i],
                                   b[right[i]], right[i]));
    }
    char& summed = b_labels[static_cast<std::size_t>(right[i])];
    std::erase(result, a_labels[static_cast<std::size_t>(left[i])]);
    std::erase(result, summed);
    summed = a_labels[static_cast<std::size_t>(left[i])];
  }
  return fmt::format("{},{}->{}", a_labels, b_labels, result);
}

std::string tensordot_equation(const Shape& a, const Shape& b, int count) {
  if (count < 0 || count > a.size() || count > b.size()) {
    throw ShapeError(fmt::format("[{}] {} dimensions of {} and {}", kTensordot, count, to_string(a), to_string(b)));
  }
  std::vector<int> last(static_cast<std::size_t>(count));
  std::vector<int> first(static_cast<std::size_t>(count));
  std::iota(last.begin(), last.end(), a.size() - count);
  std::iota(first.begin(), first.end(), 0);
  return tensordot_equation(a, b, last, first);
}

KronShapes kron_shapes(const Shape& a, const Shape& b) {
  const int rank = std::max(a.size(), b.size());
  const Shape left = with_rank(a, rank);
  const Shape right = with_rank(b, rank);
  KronShapes shapes;
  for (int i = 0; i < rank; ++i) {
    shapes.a.push_back(left[i]);
    shapes.a.push_back(1);
    shapes.b.push_back(1);
    shapes.b.push_back(right[i]);
    shapes.result.push_back(left[i] * right[i]);
  }
  return shapes;
}

int cross_dim(const Shape& a, const Shape& b, int dim) {
  const Shape shape = broadcast_shapes("cross", a, b);
  const int from_end = normalize_dim("cross", dim, shape) - shape.size();
  const auto is_three = [&](const Shape& given) {
    return given.size() + from_end >= 0 && given[given.size() + from_end] == 3;
  };
  if (!is_three(a) || !is_three(b)) {
    throw ShapeError(fmt::format("[cross] not of size 3 along {}: {} and {}", dim, to_string(a), to_string(b)));
  }
  return from_end;
}

void require_rows(const Shape& a, const Shape& b, double p) {
  if (a.size() < 2 || b.size() < 2)
    throw ShapeError(fmt::format("[{}] not matrices: {} and {}", kCdist, to_string(a), to_string(b)));
  if (a.back() != b.back())
    throw ShapeError(fmt::format("[{}] columns differ: {} and {}", kCdist, to_string(a), to_string(b)));
  if (!(p > 0.0)) throw ValueError(fmt::format("[{}] p not above 0: {}", kCdist, p));
}

bool has_few_rows(const Shape& a, const Shape& b) {
  constexpr std::int64_t kFew = 25;
  return a[a.size() - 2] <= kFew && b[b.size() - 2] <= kFew;
}

double difference_exponent(const Shape& a, double p) { return a.back() == 0 && std::isinf(p) ? 1.0 : p; }

}  // namespace troupe::detail
