#include "tensor/kernels/update.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/cpu/convert.h"
#include "tensor/cpu/parallel.h"
#include "tensor/cpu/vectorized.h"
#include "tensor/kernels/update_formulas.h"

namespace troupe::cpu {

using kernels::number;
using kernels::with_element;

namespace {

/// The most states of a formula, plus the master copy.
constexpr std::size_t kStatesMax = 4;

/// The cost of an element, in elements of a sum.
constexpr std::int64_t kCost = 4;

/// The addresses of one item.
struct Place {
  std::byte* next;
  const std::byte* value;
  const std::byte* gradient;
  std::array<std::byte*, kStatesMax> next_states;
  std::array<const std::byte*, kStatesMax> states;
};

/// Takes the addresses for writing first, because taking one may move memory that the others read.
Place place_of(UpdateItem& item) {
  Place place{};
  place.next = item.next.mutable_bytes();
  for (std::size_t k = 0; k < item.next_states.size(); ++k) place.next_states[k] = item.next_states[k].mutable_bytes();
  for (std::size_t k = 0; k < item.states.size(); ++k) place.states[k] = item.states[k].bytes();
  place.value = item.value.bytes();
  place.gradient = item.gradient.bytes();
  return place;
}

/// Scales, clamps and decays a gradient before the formula reads it.
template <class T, class Element>
struct WithGradient {
  Element element;
  T scale, limit, decay;

  T operator()(T p, T gradient, T* s) const {
    T g = scale * gradient;
    g = g < -limit ? -limit : g;
    g = g > limit ? limit : g;
    const T decayed = g + decay * p;
    return element(p, decay != T{0} ? decayed : g, s);
  }
};

/// Addresses of the operands as elements of T.
template <class T, std::size_t N>
struct Elements {
  T* next;
  const T* value;
  const T* gradient;
  std::array<T*, N> next_states;
  std::array<const T*, N> states;
};

/// The rows of a gradient in its value: row i of the gradient, `width` elements, is row numbers[i] of the value.
struct RowNumbers {
  const std::int64_t* numbers;
  std::int64_t width;
};

constexpr std::int64_t kFirstRow = 0;

/// For a dense gradient, up to element `end`.
RowNumbers all_rows(std::int64_t end) { return {&kFirstRow, std::max<std::int64_t>(end, 1)}; }

// Computes elements [begin, end) of the gradient. Operands overlap only element by element: states may be updated in
// place.
template <class T, class F, std::size_t... K>
void run(const Elements<T, sizeof...(K)>& elements, const RowNumbers& rows, std::int64_t begin, std::int64_t end,
         const F& f, std::index_sequence<K...>) {
  vectorized([ at = elements, rows, begin, end, f ]() __attribute__((always_inline)) {
    std::int64_t first = begin;
    for (std::int64_t row = begin / rows.width; first < end; ++row) {
      const std::int64_t last = std::min(end, (row + 1) * rows.width);
      const std::int64_t moved = (rows.numbers[row] - row) * rows.width;
#if defined(__clang__)
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t j = i + moved;
        T s[sizeof...(K) + 1] = {at.states[K][j]..., T{0}};
        at.next[j] = f(at.value[j], at.gradient[i], s);
        ((at.next_states[K][j] = s[K]), ...);
      }
      first = last;
    }
  });
}

/// Applies one formula to elements [begin, end) of the gradient of a parameter of T.
template <class T, class F, std::size_t... K>
void run_plain(const Place& place, const RowNumbers& rows, std::int64_t begin, std::int64_t end, const F& f,
               std::index_sequence<K...> states) {
  const auto in = [](const std::byte* x) { return reinterpret_cast<const T*>(x); };
  const auto out = [](std::byte* x) { return reinterpret_cast<T*>(x); };
  run<T>(
      {out(place.next), in(place.value), in(place.gradient), {out(place.next_states[K])...}, {in(place.states[K])...}},
      rows, begin, end, f, states);
}

/// value[i] = master[i] where master[i] rounds to `stored[i]`, the bits of the value.
void prefer_master(float* value, const std::uint16_t* stored, const float* master, const std::uint16_t* rounded,
                   std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float kept = master[i];
    value[i] = rounded[i] == stored[i] ? kept : value[i];
  }
}

/// The same for a parameter of 16 bits, block by block.
template <class F, std::size_t... K>
void run_master(const Place& place, DType dtype, std::int64_t begin, std::int64_t end, const F& f,
                std::index_sequence<K...> states) {
  constexpr std::size_t kMaster = sizeof...(K);
  alignas(64) std::array<float, kBlockElements> value;
  alignas(64) std::array<float, kBlockElements> gradient;
  alignas(64) std::array<std::uint16_t, kBlockElements> rounded;
  const auto widen = [dtype](std::array<float, kBlockElements>& to, const std::byte* from, std::int64_t count) {
    convert({reinterpret_cast<std::byte*>(to.data()), DType::f32, 1}, {from, dtype, 1}, count);
  };
  const auto round = [dtype](std::byte* to, const float* from, std::int64_t count) {
    convert({to, dtype, 1}, {reinterpret_cast<const std::byte*>(from), DType::f32, 1}, count);
  };
  for (; begin < end; begin += kBlockElements) {
    const std::int64_t count = std::min(kBlockElements, end - begin);
    const auto in = [begin](const std::byte* x) { return reinterpret_cast<const float*>(x) + begin; };
    const auto out = [begin](std::byte* x) { return reinterpret_cast<float*>(x) + begin; };
    const std::byte* const stored = place.value + begin * 2;
    widen(value, stored, count);
    widen(gradient, place.gradient + begin * 2, count);
    round(reinterpret_cast<std::byte*>(rounded.data()), in(place.states[kMaster]), count);
    prefer_master(value.data(), reinterpret_cast<const std::uint16_t*>(stored), in(place.states[kMaster]),
                  rounded.data(), count);
    float* const next = out(place.next_states[kMaster]);
    run<float>({next, value.data(), gradient.data(), {out(place.next_states[K])...}, {in(place.states[K])...}},
               all_rows(count), 0, count, f, states);
    round(place.next + begin * 2, next, count);
  }
}

template <class T>
void run_item(const UpdateItem& item, const Place& place, const RowNumbers& rows, std::int64_t begin,
              std::int64_t end) {
  const double decay = std::visit(
      [](const auto& formula) {
        if constexpr (requires { formula.decay; }) return formula.decay;
        return 0.0;
      },
      item.formula);
  with_element<T>(item.formula, [&]<class Element>(const Element& element) {
    const WithGradient<T, Element> f{element, number<T>(item.gradient_scale), number<T>(item.gradient_limit),
                                     number<T>(decay)};
    const auto states = std::make_index_sequence<Element::kStates>();
    const DType dtype = item.value.dtype();
    if constexpr (std::is_same_v<T, float>) {
      if (dtype != DType::f32) return run_master(place, dtype, begin, end, f, states);
    }
    run_plain<T>(place, rows, begin, end, f, states);
  });
}

/// Returns the addresses shifted by `elements`, so that a row of the value has the index of its gradient's row.
Place moved(const Place& place, std::int64_t elements, DType dtype) {
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t state_bytes = elements * static_cast<std::int64_t>(size_of(compute_dtype(dtype)));
  Place result = place;
  result.next += bytes;
  result.value += bytes;
  for (std::byte*& state : result.next_states) state = state == nullptr ? nullptr : state + state_bytes;
  for (const std::byte*& state : result.states) state = state == nullptr ? nullptr : state + state_bytes;
  return result;
}

/// Computes elements [begin, end) of the gradient.
template <class T>
void run_part(const UpdateItem& item, const Place& place, std::int64_t begin, std::int64_t end) {
  if (!item.rows.defined()) return run_item<T>(item, place, all_rows(end), begin, end);
  const auto rows = item.rows.data<std::int64_t>();
  const std::int64_t width = item.gradient.numel() / item.rows.numel();
  const DType dtype = item.value.dtype();
  if (dtype == dtype_of<T>) return run_item<T>(item, place, {rows.data(), width}, begin, end);
  while (begin < end) {  // 16 bits: row by row
    const std::int64_t row = begin / width;
    const std::int64_t last = std::min(end, (row + 1) * width);
    const std::int64_t distance = (rows[static_cast<std::size_t>(row)] - row) * width;
    run_item<T>(item, moved(place, distance, dtype), all_rows(last), begin, last);
    begin = last;
  }
}

void update(std::span<UpdateItem> items) {
  std::vector<Place> places;
  std::vector<std::int64_t> ends;  // in elements, counted over all items
  places.reserve(items.size());
  ends.reserve(items.size());
  std::int64_t total = 0;
  for (UpdateItem& item : items) {
    places.push_back(place_of(item));
    ends.push_back(total += item.gradient.numel());
  }
  parallel_for(total, kCost, [&](std::int64_t begin, std::int64_t end) {
    auto i = static_cast<std::size_t>(std::ranges::upper_bound(ends, begin) - ends.begin());
    for (; begin < end; ++i) {
      const std::int64_t first = ends[i] - items[i].gradient.numel();
      const std::int64_t last = std::min(end, ends[i]);
      if (begin == last) continue;  // it has no elements
      if (items[i].value.dtype() == DType::f64) {
        run_part<double>(items[i], places[i], begin - first, last - first);
      } else {
        run_part<float>(items[i], places[i], begin - first, last - first);
      }
      begin = last;
    }
  });
}

}  // namespace

const kernels::UpdateKernels update_kernels{.update = update};

}  // namespace troupe::cpu
