#include "tests/tensor/random_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "tensor/create.h"

namespace troupe::testing {

std::vector<int> Dice::order(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[generator_.below(i)]);
  return numbers;
}

void for_each_offset(const Tensor& x, const std::function<void(std::size_t)>& visit) {
  const Shape& shape = x.shape();
  for (std::int64_t k = 0; k < shape.numel(); ++k) {
    std::int64_t offset = x.offset();
    std::int64_t rest = k;
    for (int d = shape.size() - 1; d >= 0; --d) {
      offset += rest % shape[d] * x.strides()[d];
      rest /= shape[d];
    }
    visit(static_cast<std::size_t>(offset) * size_of(x.dtype()));
  }
}

Tensor copied_by_bytes(const Tensor& x) {
  Tensor copy = Tensor::empty(x.shape(), x.dtype());
  const std::byte* const from = x.storage().data();
  std::byte* to = copy.mutable_bytes();
  for_each_offset(x, [&](std::size_t offset) {
    std::memcpy(to, from + offset, size_of(x.dtype()));
    to += size_of(x.dtype());
  });
  return copy;
}

Tensor random_values(const Shape& shape, DType dtype, Dice& dice) {
  constexpr std::array kSpecial{0.0, -0.0, std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  const bool special = is_floating(dtype) && dice.one_in(8);
  Tensor values = Tensor::empty(shape, dtype);
  dispatch(dtype, [&]<class T>(std::type_identity<T>) {
    for (T& value : values.mutable_data<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        value = dice.one_in(2);
      } else if (!is_floating(dtype)) {
        value = static_cast<T>(dice.between(std::is_unsigned_v<T> ? 0 : -3, 4));
      } else if (special && dice.one_in(4)) {
        value = static_cast<T>(static_cast<float>(kSpecial.at(static_cast<std::size_t>(dice.between(0, 4)))));
      } else {
        value = static_cast<T>(static_cast<float>(dice.real(-3.0, 3.0)));
      }
    }
  });
  return values;
}

Tensor scattered(const Tensor& x, Dice& dice) {
  const std::vector<int> order = dice.order(x.dim());
  std::vector<int> back(order.size());
  Shape sizes;
  std::vector<std::pair<std::int64_t, std::int64_t>> cuts;  // (first, step)
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    cuts.emplace_back(dice.between(0, 1), dice.one_in(2) ? 1 : dice.between(1, 3));
    sizes.push_back(cuts.back().first + x.shape()[order[i]] * cuts.back().second);
  }
  Tensor view = random_values(sizes, x.dtype(), dice);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t size = sizes[static_cast<int>(i)];
    view = view.slice(static_cast<int>(i), cuts[i].first, size, cuts[i].second);
  }
  view = view.permute(back);
  const Tensor source = copied_by_bytes(x);
  const std::byte* from = source.bytes();
  std::byte* const to = Storage(view.storage()).mutable_data();
  for_each_offset(view, [&](std::size_t offset) {
    std::memcpy(to + offset, from, size_of(x.dtype()));
    from += size_of(x.dtype());
  });
  return view;
}

Tensor random_tensor(const Shape& shape, DType dtype, Dice& dice) {
  if (dice.one_in(4)) return random_values(shape, dtype, dice);
  Shape sizes = shape;
  for (int d = 0; d < sizes.size(); ++d) {
    if (dice.one_in(6)) sizes[d] = 1;
  }
  return scattered(random_values(sizes, dtype, dice), dice).expand(shape);
}

Shape random_shape(Dice& dice) {
  Shape shape;
  for (std::int64_t rank = dice.between(0, 4); rank > 0; --rank) {
    shape.push_back(dice.one_in(40) ? 0 : dice.one_in(20) ? dice.between(6, 40) : dice.between(1, 5));
  }
  return shape;
}

DType random_dtype(Dice& dice) {
  constexpr std::array kAll{DType::f32, DType::f32, DType::f32, DType::f64, DType::f64, DType::f16, DType::bf16,
                            DType::i64, DType::i64, DType::i32, DType::i16, DType::i8,  DType::u8,  DType::boolean};
  return kAll.at(static_cast<std::size_t>(dice.between(0, std::ssize(kAll) - 1)));
}

Shape random_partner(const Shape& shape, Dice& dice) {
  Shape partner = shape;
  while (!partner.empty() && dice.one_in(4)) partner.erase(0);
  for (int d = 0; d < partner.size(); ++d) {
    if (dice.one_in(5)) partner[d] = 1;
    else if (partner[d] == 1 && dice.one_in(3)) partner[d] = dice.between(0, 3);
  }
  if (partner.size() == shape.size() && dice.one_in(8)) partner.insert(0, dice.between(1, 2));
  return partner;
}

std::string layout_of(const Tensor& x) {
  return fmt::format("{} {} strides {} offset {}", name_of(x.dtype()), to_string(x.shape()), to_string(x.strides()),
                     x.offset());
}

Tensor random_view(const Tensor& x, Dice& dice, std::string& text) {
  const int rank = x.dim();
  const auto arranged = [&]() -> std::pair<std::string, Tensor> {
    if (rank == 0) return {"unsqueeze", x.unsqueeze(0)};
    const int dim = dice.dim_of(x);
    const std::int64_t size = x.size(dim);
    const std::int64_t first = dice.between(0, size);
    switch (dice.between(0, 8)) {
      case 0: return {"transpose", x.transpose(dim, dice.dim_of(x))};
      case 1: return {"permute", x.permute(dice.order(rank))};
      case 2: return {"slice", x.slice(dim, first / 2, size, dice.between(1, 3))};
      case 3: return {"narrow", x.slice(dim, first / 3, dice.between(first / 3, size))};
      case 4: return size > 0 ? std::pair{"select", x.select(dim, std::min(first, size - 1))} : std::pair{"same", x};
      case 5: return {"unsqueeze", x.unsqueeze(dim)};
      case 6: return size == 1 ? std::pair{"squeeze", x.squeeze(dim)} : std::pair{"same", x};
      case 7: {
        Shape wider = x.shape();
        for (int d = 0; d < rank; ++d) wider[d] = wider[d] == 1 ? dice.between(0, 4) : wider[d];
        if (dice.one_in(2)) wider.insert(0, dice.between(1, 3));
        return {"expand", x.expand(wider)};
      }
      default: return {"scattered", scattered(x, dice)};
    }
  };
  const auto [name, view] = arranged();
  text += fmt::format("  {} -> {}\n", name, layout_of(view));
  return view;
}

}  // namespace troupe::testing
