#include "tensor/cpu/scan.h"

#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/parallel.h"

namespace troupe::cpu {
namespace {

// Sums rows of `inner` elements, `step` apart, each added to the one before. Total wraps around or is wider than T.
template <class Total, class T>
void sum_rows(T* out, const T* x, std::int64_t rows, std::int64_t inner, std::int64_t step) {
  std::vector<Total> totals(static_cast<std::size_t>(inner), Total{0});
  for (std::int64_t i = 0; i < rows; ++i, out += step, x += step) {
    for (std::size_t j = 0; j < totals.size(); ++j) {
      totals[j] += static_cast<Total>(x[j]);
      out[j] = static_cast<T>(totals[j]);
    }
  }
}

}  // namespace

void cumsum(Tensor& out, const Tensor& x, Direction direction) {
  if (x.numel() == 0) return;
  const std::int64_t rows = x.size(1);
  const std::int64_t inner = x.size(2);
  const std::int64_t first = direction == Direction::forward ? 0 : (rows - 1) * inner;
  const std::int64_t step = direction == Direction::forward ? inner : -inner;
  const auto sum_all = [&]<class T, class Total>(std::type_identity<T>, std::type_identity<Total>) {
    T* const to = mutable_elements<T>(out);
    const T* const from = elements<T>(x);
    parallel_for(x.size(0), rows * inner, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t at = i * rows * inner + first;
        sum_rows<Total>(to + at, from + at, rows, inner, step);
      }
    });
  };
  if (x.dtype() == DType::i64) return sum_all(std::type_identity<std::int64_t>{}, std::type_identity<std::uint64_t>{});
  if (x.dtype() == DType::f32) return sum_all(std::type_identity<float>{}, std::type_identity<double>{});
  sum_all(std::type_identity<double>{}, std::type_identity<double>{});
}

}  // namespace troupe::cpu
