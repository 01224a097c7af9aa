// The kernels of tensor/kernels/embedding_bag.h for any launcher, see launcher.h.
//
// One thread per column sums the entries of a row in their order, because the entries are stably sorted by row.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/cuda/formulas.h"
#include "tensor/cuda/gather_kernels.h"
#include "tensor/cuda/lanes.h"
#include "tensor/cuda/place.h"
#include "tensor/kernels/embedding_bag.h"

namespace troupe::cuda {

using kernels::Bags;

/// Bags with typed addresses.
template <class T>
struct Entries {
  const std::int64_t* index;
  const std::int64_t* offsets;
  const T* scales;  ///< null: all 1
  std::int64_t padding;
  std::int64_t bags;
  std::int64_t count;

  explicit Entries(const Bags& of)
      : index(address<std::int64_t>(read(of.index))),
        offsets(address<std::int64_t>(read(of.offsets))),
        scales(of.scales.defined() ? address<T>(read(of.scales)) : nullptr),
        padding(of.padding),
        bags(of.count()),
        count(of.index.numel()) {}

  [[nodiscard]] TROUPE_HOST_DEVICE bool has(std::int64_t entry) const { return index[entry] != padding; }
  [[nodiscard]] TROUPE_HOST_DEVICE T scale(std::int64_t entry) const {
    return scales == nullptr ? T{1} : scales[entry];
  }

  /// Returns the bag of an entry: the last non-empty bag that begins at or before it.
  [[nodiscard]] TROUPE_HOST_DEVICE std::int64_t bag_of(std::int64_t entry) const {
    std::int64_t low = 0;
    std::int64_t high = bags;  // offsets[low] <= entry < offsets[high]
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      if (offsets[middle] <= entry) low = middle;
      else high = middle;
    }
    return low;
  }
};

/// Writes 1 / the number of entries of bag i that are not left out, for each of its entries.
template <class T>
struct MeanScalesBody {
  Entries<T> entries;
  T* scales;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t counted = 0;
    for (std::int64_t e = entries.offsets[i]; e < entries.offsets[i + 1]; ++e) counted += entries.has(e) ? 1 : 0;
    for (std::int64_t e = entries.offsets[i]; e < entries.offsets[i + 1]; ++e)
      scales[e] = T{1} / static_cast<T>(counted);
  }
};

/// i: element of (bags, width).
template <class T>
struct BagSumBody {
  Entries<T> entries;
  std::int64_t width;
  Place out;
  Place weight;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t bag = i / width;
    const Place column = weight.from(i % width);
    T total{0};
    for (std::int64_t e = entries.offsets[bag]; e < entries.offsets[bag + 1]; ++e) {
      if (!entries.has(e)) continue;
      const T value = load<T>(column.from(entries.index[e] * width), 0);
      total += entries.scales == nullptr ? value : entries.scales[e] * value;
    }
    store<T>(out.from(i), 0, total);
  }
};

template <class T>
struct BagMaxBody {
  Entries<T> entries;
  std::int64_t width;
  Place out;
  std::int64_t* where;
  Place weight;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t bag = i / width;
    const Place column = weight.from(i % width);
    T top{0};
    std::int64_t place = -1;
    for (std::int64_t e = entries.offsets[bag]; e < entries.offsets[bag + 1]; ++e) {
      if (!entries.has(e)) continue;
      const T value = load<T>(column.from(entries.index[e] * width), 0);
      // `x != x` holds only for NaN, which is larger than all.
      if (place >= 0 && !(value > top) && value == value) continue;
      top = value;
      place = e;
    }
    store<T>(out.from(i), 0, top);
    where[i] = place;
  }
};

/// Writes the bag of each entry at `places`.
template <class T>
struct BagNumbersBody {
  Entries<T> entries;
  std::int64_t* to;
  const std::int64_t* places;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = entries.bag_of(places[i]); }
};

/// out (rows, width) += the sum of each row's entries. Keys are the rows, sorted; the thread of a row's first entry
/// adds all of its entries. i: element of (entries, width).
template <class T>
struct BagAddBody {
  Entries<T> entries;
  std::int64_t width;
  T* out;
  const T* grad;
  const std::int64_t* where;  ///< the entries of the largest elements; null: all entries, with their scales
  const std::int64_t* keys;
  const std::int64_t* places;
  const std::int64_t* bags;  ///< bags of the entries at `places`

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t column = i % width;
    const std::int64_t k = i / width;
    const std::int64_t row = keys[k];
    if (row == entries.padding || (k > 0 && keys[k - 1] == row)) return;
    T total = out[row * width + column];
    for (std::int64_t j = k; j < entries.count && keys[j] == row; ++j) {
      const std::int64_t e = places[j];
      const std::int64_t at = bags[j] * width + column;
      if (where == nullptr) total += entries.scale(e) * grad[at];
      else if (where[at] == e) total += grad[at];
    }
    out[row * width + column] = total;
  }
};

/// i: element of (entries, width).
template <class T>
struct BagValuesBody {
  Entries<T> entries;
  std::int64_t width;
  T* values;
  const T* grad;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t e = i / width;
    if (entries.has(e)) values[i] = entries.scale(e) * grad[entries.bag_of(e) * width + i % width];
  }
};

template <class T>
struct ZeroValues {
  T* values;
  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const { values[i] = T{0}; }
};

/// i: element of (bags, width). REQUIRES: `values` are 0.
template <class T>
struct BagMaxValuesBody {
  std::int64_t width;
  T* values;
  const T* grad;
  const std::int64_t* where;

  TROUPE_HOST_DEVICE void operator()(std::int64_t i) const {
    if (where[i] >= 0) values[where[i] * width + i % width] = grad[i];
  }
};

/// One team per entry: the product of its row and the gradient of its bag.
template <class T>
struct BagScalesBody {
  static constexpr int kLanes = 32;
  struct Shared {
    double totals[kLanes];
  };
  Entries<T> entries;
  std::int64_t width;
  T* out;
  const T* grad;
  const T* weight;

  template <class Team>
  TROUPE_HOST_DEVICE void operator()(const Team& team, std::int64_t e) const {
    const std::int64_t row = entries.has(e) ? entries.index[e] : 0;
    const T* const a = grad + entries.bag_of(e) * width;
    const T* const b = weight + row * width;
    team.each([&](int lane) {
      double total = 0.0;
      for (std::int64_t k = lane; k < width; k += kLanes) total += static_cast<double>(a[k] * b[k]);
      team.shared.totals[lane] = total;
    });
    join_lanes(team, team.shared.totals, Plus{});
    team.each([&](int lane) {
      if (lane == 0) out[e] = entries.has(e) ? static_cast<T>(team.shared.totals[0]) : T{0};
    });
  }
};

template <class Launcher>
void bag_mean_scales_with(const Launcher& launcher, Tensor& scales, const Bags& bags) {
  const Place to = written(scales);
  dispatch_floating("embedding_bag", scales.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(bags.count(), MeanScalesBody<T>{Entries<T>(bags), address<T>(to)});
  });
}

template <class Launcher>
void bag_sum_with(const Launcher& launcher, Tensor& out, const Tensor& weight, const Bags& bags) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  dispatch_floating("embedding_bag", weight.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(), BagSumBody<T>{Entries<T>(bags), weight.size(1), to, read(weight)});
  });
}

template <class Launcher>
void bag_max_with(const Launcher& launcher, Tensor& out, Tensor& where, const Tensor& weight, const Bags& bags) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  const Place places = written(where);
  dispatch_floating("embedding_bag", weight.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(out.numel(),
                  BagMaxBody<T>{Entries<T>(bags), weight.size(1), to, address<std::int64_t>(places), read(weight)});
  });
}

/// Computes bag_add, or bag_max_add if `where` is defined.
template <class Launcher>
void bag_add_with(const Launcher& launcher, Tensor& out, const Tensor& grad, const Tensor& where, const Bags& bags) {
  const std::int64_t count = bags.index.numel();
  if (count == 0 || out.numel() == 0) return;
  Tensor keys = bags.index.clone();
  Tensor places = Tensor::empty({count}, DType::i64, out.device());
  launcher.each(count, CountBody{address<std::int64_t>(written(places))});
  launcher.sort_pairs(keys, places, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(out.size(0)))));
  Tensor of_bags = Tensor::empty({count}, DType::i64, out.device());
  std::int64_t* const bag_numbers = address<std::int64_t>(written(of_bags));
  const std::int64_t* const entry_numbers = address<std::int64_t>(read(places));
  const Place to = written(out);
  const std::int64_t width = out.size(1);
  dispatch_floating("embedding_bag", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(count, BagNumbersBody<T>{Entries<T>(bags), bag_numbers, entry_numbers});
    launcher.each(count * width, BagAddBody<T>{Entries<T>(bags), width, address<T>(to), address<T>(read(grad)),
                                               where.defined() ? address<std::int64_t>(read(where)) : nullptr,
                                               address<std::int64_t>(read(keys)), entry_numbers, bag_numbers});
  });
}

template <class Launcher>
void bag_values_with(const Launcher& launcher, Tensor& values, const Tensor& grad, const Bags& bags) {
  if (values.numel() == 0) return;
  const Place to = written(values);
  dispatch_floating("embedding_bag", values.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(values.numel(),
                  BagValuesBody<T>{Entries<T>(bags), values.size(1), address<T>(to), address<T>(read(grad))});
  });
}

template <class Launcher>
void bag_max_values_with(const Launcher& launcher, Tensor& values, const Tensor& grad, const Tensor& where) {
  if (values.numel() == 0) return;
  const Place to = written(values);
  dispatch_floating("embedding_bag", values.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.each(values.numel(), ZeroValues<T>{address<T>(to)});
    launcher.each(grad.numel(), BagMaxValuesBody<T>{values.size(1), address<T>(to), address<T>(read(grad)),
                                                    address<std::int64_t>(read(where))});
  });
}

template <class Launcher>
void bag_scales_backward_with(const Launcher& launcher, Tensor& out, const Tensor& grad, const Tensor& weight,
                              const Bags& bags) {
  const Place to = written(out);
  dispatch_floating("embedding_bag", out.dtype(), [&]<class T>(std::type_identity<T>) {
    launcher.template teams<BagScalesBody<T>::kLanes>(
        out.numel(), BagScalesBody<T>{Entries<T>(bags), weight.size(1), address<T>(to), address<T>(read(grad)),
                                      address<T>(read(weight))});
  });
}

}  // namespace troupe::cuda
