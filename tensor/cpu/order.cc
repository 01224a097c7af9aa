#include "tensor/kernels/order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <vector>

#include "tensor/cpu/elements.h"
#include "tensor/cpu/loops.h"
#include "tensor/kernels/order_key.h"

namespace troupe::cpu {

using kernels::make_walk;
using kernels::order_key;

namespace {

// `value != value` holds only for NaN.
template <class T>
bool is_less(T a, T b) {
  return a < b || (b != b && a == a);
}

// Writes the first `k` places of a row, in order, to `places`, which has one element per element of the row.
template <class T>
void first_places(std::vector<std::int64_t>& places, const T* row, std::int64_t stride, std::int64_t k, Order order) {
  std::iota(places.begin(), places.end(), std::int64_t{0});
  const auto before = [&](std::int64_t i, std::int64_t j) {
    const T a = row[i * stride];
    const T b = row[j * stride];
    if (order == Order::ascending ? is_less(a, b) : is_less(b, a)) return true;
    if (order == Order::ascending ? is_less(b, a) : is_less(a, b)) return false;
    return i < j;
  };
  std::partial_sort(places.begin(), places.begin() + k, places.end(), before);
}

template <class T>
using KeyBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

// The sort key of an element, and its place.
template <class Key>
struct Entry {
  Key key;
  std::int64_t place;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  }
};

// Radix sort by key, from the least significant digit. Equal keys keep their order. Each digit reads and writes each
// entry once.
template <class Key>
void sort_digits(std::vector<Entry<Key>>& entries, std::vector<Entry<Key>>& room) {
  constexpr int kDigit = 11;
  constexpr std::size_t kBuckets = std::size_t{1} << kDigit;
  constexpr std::size_t kDigits = (sizeof(Key) * 8 + kDigit - 1) / kDigit;
  const auto digit = [](Key key, std::size_t i) { return static_cast<std::size_t>(key >> (i * kDigit)) % kBuckets; };
  std::vector<std::size_t> counts(kDigits * kBuckets, 0);
  for (const Entry<Key>& entry : entries) {
    for (std::size_t i = 0; i < kDigits; ++i) ++counts[i * kBuckets + digit(entry.key, i)];
  }
  for (std::size_t i = 0; i < kDigits; ++i) {
    std::size_t* const next = counts.data() + i * kBuckets;
    if (next[digit(entries.front().key, i)] == entries.size()) continue;  // all keys have the same digit
    std::exclusive_scan(next, next + kBuckets, next, std::size_t{0});
    for (const Entry<Key>& entry : entries) room[next[digit(entry.key, i)]++] = entry;
    entries.swap(room);
  }
}

// Sorts whole rows one after the other in the same memory.
template <class T>
class WholeRows {
 public:
  explicit WholeRows(std::int64_t size) : entries_(static_cast<std::size_t>(size)), room_(entries_) {}

  std::int64_t* write_places(const T* row, std::int64_t stride, std::int64_t k, Order order, std::int64_t* to) {
    constexpr std::size_t kLong = 2048;
    const auto flip = static_cast<KeyBits<T>>(order == Order::ascending ? KeyBits<T>{0} : ~KeyBits<T>{0});
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i);
      entries_[i] = {static_cast<KeyBits<T>>(static_cast<KeyBits<T>>(order_key(row[place * stride])) ^ flip), place};
    }
    if (entries_.size() < kLong) std::sort(entries_.begin(), entries_.end());
    else sort_digits(entries_, room_);
    for (std::int64_t i = 0; i < k; ++i) *to++ = entries_[static_cast<std::size_t>(i)].place;
    return to;
  }

 private:
  std::vector<Entry<KeyBits<T>>> entries_;
  std::vector<Entry<KeyBits<T>>> room_;
};

void order_last(Tensor& out, const Tensor& x, Order order) {
  if (out.numel() == 0) return;
  const int last = x.dim() - 1;
  const std::int64_t size = x.shape()[last];
  const std::int64_t stride = x.strides()[last];
  const std::int64_t k = out.shape()[last];
  const bool whole = k * 8 >= size;  // sorting the whole row is faster then
  const Tensor first = x.select(last, 0);
  const auto walk = make_walk<1>(first.shape(), {&first.strides()});
  auto* const to = mutable_elements<std::int64_t>(out);
  dispatch_compute(x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const from = elements<T>(first);
    parallel_for(walk.numel, size, [&](std::int64_t begin, std::int64_t end) {
      WholeRows<T> rows(whole ? size : 0);
      std::vector<std::int64_t> places(static_cast<std::size_t>(whole ? 0 : size));
      std::int64_t* next = to + begin * k;
      walk_range(walk, begin, end, [&](const std::array<std::int64_t, 1>& at, std::int64_t count) {
        for (std::int64_t j = 0; j < count; ++j) {
          const T* const row = from + at[0] + j * walk.row_strides()[0];
          if (whole) {
            next = rows.write_places(row, stride, k, order, next);
          } else {
            first_places(places, row, stride, k, order);
            next = std::copy_n(places.begin(), k, next);
          }
        }
      });
    });
  });
}

}  // namespace

const kernels::OrderKernels order_kernels{.order_last = order_last};

}  // namespace troupe::cpu
