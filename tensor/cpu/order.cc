#include "tensor/cpu/order.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/loops.h"

namespace troupe::cpu {
namespace {

// `value != value` holds for NaN only.
template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

// The first `k` places of a row, in order. `places` is room for all of them.
template <class T>
void order_row(std::vector<std::int64_t>& places, const T* row, std::int64_t stride, std::int64_t k, Order order) {
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const auto before = [&](std::int64_t i, std::int64_t j) {
    const T a = row[i * stride];
    const T b = row[j * stride];
    if (order == Order::ascending ? is_less(a, b) : is_less(b, a)) return true;
    if (order == Order::ascending ? is_less(b, a) : is_less(a, b)) return false;
    return i < j;
  };
  constexpr std::int64_t kFew = 8;  // from an eighth on, sorting all of them is faster
  if (k * kFew < std::ssize(places)) std::partial_sort(places.begin(), places.begin() + k, places.end(), before);
  else std::sort(places.begin(), places.end(), before);
}

}  // namespace

void order_last(Tensor& out, const Tensor& x, Order order) {
  if (out.numel() == 0) return;
  const int last = x.dim() - 1;
  const std::int64_t size = x.shape()[last];
  const std::int64_t stride = x.strides()[last];
  const std::int64_t k = out.shape()[last];
  const Tensor first = x.select(last, 0);
  const auto walk = make_walk<1>(first.shape(), {&first.strides()});
  auto* const to = mutable_elements<std::int64_t>(out);
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const from = elements<T>(first);
    parallel_for(walk.numel, size, [&](std::int64_t begin, std::int64_t end) {
      std::vector<std::int64_t> places(static_cast<std::size_t>(size));
      std::int64_t* next = to + begin * k;
      walk_range(walk, begin, end, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j) {
          order_row(places, from + at[0] + j * walk.row_strides()[0], stride, k, order);
          next = std::copy_n(places.begin(), k, next);
        }
      });
    });
  });
}

}  // namespace troupe::cpu
