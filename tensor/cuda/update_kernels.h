// The kernels of tensor/kernels/update.h for any launcher, see launcher.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>

#include "tensor/cuda/place.h"
#include "tensor/kernels/update.h"
#include "tensor/kernels/update_formulas.h"

namespace troupe::cuda {

/// Updates one element of a parameter from value, gradient and states. The next ones may be stored in the same places.
template <class T, class Element>
struct UpdateBody {
  static constexpr std::size_t kStates = Element::kStates;
  Element element;
  T scale;
  T limit;
  T decay;
  Place next;
  Place value;
  Place gradient;
  std::array<T*, kStates + 1> next_states;
  std::array<const T*, kStates + 1> states;
  bool has_master;           ///< the last state is the master copy of a 16-bit value
  const std::int64_t* rows;  ///< the gradient's rows, `width` elements each; null: all rows
  std::int64_t width;

  /// i: element of the gradient.
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    step(rows == nullptr ? i : rows[i / width] * width + i % width, scale * load<T>(gradient.from(i), 0));
  }

  TROUPE_HOST_DEVICE void step(std::int64_t i, T g) const {
    T p = load<T>(value.from(i), 0);
    T s[kStates + 1];
    for (int k = 0; k < static_cast<int>(kStates); ++k) s[k] = states[static_cast<std::size_t>(k)][i];
    if (has_master && is_rounded(states[kStates][i], i)) p = states[kStates][i];
    g = g < -limit ? -limit : g;
    g = g > limit ? limit : g;
    const T decayed = g + decay * p;
    const T result = element(p, decay != T{0} ? decayed : g, s);
    for (int k = 0; k < static_cast<int>(kStates); ++k) next_states[static_cast<std::size_t>(k)][i] = s[k];
    if (has_master) next_states[kStates][i] = result;
    store<T>(next.from(i), 0, result);
  }

  /// Returns whether `master` rounds to the stored value; if not, other code wrote the value.
  [[nodiscard]] TROUPE_HOST_DEVICE bool is_rounded(T master, std::int64_t i) const {
    const std::uint16_t stored = cuda::element<std::uint16_t>(value.from(i), 0);
    return stored ==
           (value.dtype == DType::f16 ? convert_value<Half>(master).bits : convert_value<BFloat16>(master).bits);
  }
};

template <class T, class Launcher>
void update_item(const Launcher& launcher, UpdateItem& item) {
  const double decay = std::visit(
      [](const auto& formula) {
        if constexpr (requires { formula.decay; }) return formula.decay;
        return 0.0;
      },
      item.formula);
  kernels::with_element<T>(item.formula, [&]<class Element>(const Element& element) {
    using kernels::number;
    UpdateBody<T, Element> body{element,
                                number<T>(item.gradient_scale),
                                number<T>(item.gradient_limit),
                                number<T>(decay),
                                {},
                                {},
                                {},
                                {},
                                {},
                                false,
                                nullptr,
                                1};
    body.has_master = item.value.dtype() != dtype_of<T>;
    // Takes the addresses for writing first, because taking one may move memory that the others read.
    body.next = written(item.next);
    for (std::size_t k = 0; k < item.next_states.size(); ++k)
      body.next_states[k] = address<T>(written(item.next_states[k]));
    for (std::size_t k = 0; k < item.states.size(); ++k) body.states[k] = address<T>(read(item.states[k]));
    body.value = read(item.value);
    body.gradient = read(item.gradient);
    if (item.rows.defined() && item.rows.numel() > 0) {
      body.rows = address<std::int64_t>(read(item.rows));
      body.width = item.gradient.numel() / item.rows.numel();
    }
    launcher.each(item.gradient.numel(), body);
  });
}

template <class Launcher>
void update_with(const Launcher& launcher, std::span<UpdateItem> items) {
  for (UpdateItem& item : items) {
    if (item.value.dtype() == DType::f64) update_item<double>(launcher, item);
    else update_item<float>(launcher, item);
  }
}

}  // namespace troupe::cuda
