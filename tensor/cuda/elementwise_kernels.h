// The kernels of tensor/kernels/elementwise.h for any launcher, see launcher.h.
#pragma once

#include <cstdint>

#include "tensor/cuda/formula_of.h"
#include "tensor/cuda/packs.h"
#include "tensor/cuda/place.h"
#include "tensor/cuda/strided.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {

using kernels::CompareOp;

/// An operand: a tensor, or one number.
template <class T>
struct Operand {
  Place place;  ///< null data: the operand is `number`
  T number = {};

  [[nodiscard]] TROUPE_HOST_DEVICE T at(std::uint32_t offset) const {
    return place.data == nullptr ? number : load<T>(place, offset);
  }
  [[nodiscard]] Operand from(std::int64_t element) const {
    return place.data == nullptr ? *this : Operand{place.from(element), number};
  }
};

template <class Op, class T>
struct UnaryBody {
  Strided<2> walk;
  Place out;
  Place x;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const { return Op{}(load<T>(x, walk.offsets(i)[1])); }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { store<T>(out, walk.offsets(i)[0], value); }
};

template <class Op, class T>
struct BinaryBody {
  Strided<3> walk;
  Place out;
  Operand<T> a;
  Operand<T> b;
  Op op;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return op(a.at(at[1]), b.at(at[2]));
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { store<T>(out, walk.offsets(i)[0], value); }
};

template <class Op, class T>
struct PackedUnaryBody {
  Strided<2> walk;
  Place out;
  PackedOperand<T> x;

  TROUPE_HOST_DEVICE Pack<T> value(std::uint32_t i) const {
    Pack<T> pack = x.at(walk.offsets(i)[1]);
    for (T& element : pack.values) element = Op{}(element);
    return pack;
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, const Pack<T>& pack) const {
    element<Pack<T>>(out, walk.offsets(i)[0]) = pack;
  }
};

template <class Op, class T>
struct PackedBinaryBody {
  Strided<3> walk;
  Place out;
  PackedOperand<T> a;
  PackedOperand<T> b;
  Op op;

  TROUPE_HOST_DEVICE Pack<T> value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    Pack<T> pack = a.at(at[1]);
    const Pack<T> other = b.at(at[2]);
    for (std::uint32_t k = 0; k < kPackSize<T>; ++k) pack.values[k] = op(pack.values[k], other.values[k]);
    return pack;
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, const Pack<T>& pack) const {
    element<Pack<T>>(out, walk.offsets(i)[0]) = pack;
  }
};

struct Comparison {
  CompareOp op;

  template <class T>
  TROUPE_HOST_DEVICE bool operator()(T a, T b) const {
    switch (op) {
      case CompareOp::eq: return a == b;
      case CompareOp::ne: return a != b;
      case CompareOp::lt: return a < b;
      case CompareOp::le: break;
    }
    return a <= b;
  }
};

template <class T>
struct CompareBody {
  Strided<3> walk;
  Place out;
  Place a;
  Place b;
  Comparison op;

  TROUPE_HOST_DEVICE bool value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return op(load<T>(a, at[1]), load<T>(b, at[2]));
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, bool value) const { element<bool>(out, walk.offsets(i)[0]) = value; }
};

/// Copies elements without conversion. T is an unsigned integer of their size.
template <class T>
struct SelectBody {
  Strided<4> walk;
  Place out;
  Place condition;
  Place a;
  Place b;

  TROUPE_HOST_DEVICE T value(std::uint32_t i) const {
    const auto at = walk.offsets(i);
    return element<bool>(condition, at[1]) ? element<T>(a, at[2]) : element<T>(b, at[3]);
  }
  TROUPE_HOST_DEVICE void put(std::uint32_t i, T value) const { element<T>(out, walk.offsets(i)[0]) = value; }
};

/// Two products and a sum, each rounded separately.
template <class T>
struct Axpby {
  T alpha;
  T beta;
  TROUPE_HOST_DEVICE T operator()(T a, T b) const { return alpha * a + beta * b; }
};

/// Applies `Op` to the elements of a walk.
template <class T, class Launcher, class Op>
void map_elements(const Launcher& launcher, const Op&, const Strided<2>& walk, const Place& out, const Place& x) {
  if constexpr (kHasPacks<T>) {
    if (const auto packs = packs_of<T>(walk, {out, x})) {
      launcher.map(packs->walk.numel, PackedUnaryBody<Op, T>{packs->walk, out, {x, packs->repeats[1]}});
      if (packs->rest.numel == 0) return;
      return launcher.map(packs->rest.numel,
                          UnaryBody<Op, T>{packs->rest, out.from(packs->starts[0]), x.from(packs->starts[1])});
    }
  }
  launcher.map(walk.numel, UnaryBody<Op, T>{walk, out, x});
}

template <class Launcher>
void unary_with(const Launcher& launcher, UnaryOp op, Tensor& out, const Tensor& x) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  const Place from = read(x);
  for_each_small(
      kernels::make_walk<2>(out.shape(), {&out.strides(), &x.strides()}), [&](const auto& walk, const auto& at) {
        dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
          with_formula<T>(
              op, [&]<class Op>(Op) { map_elements<T>(launcher, Op{}, walk, to.from(at[0]), from.from(at[1])); });
        });
      });
}

template <class T, class Launcher, class Op>
void map_pairs(const Launcher& launcher, const Op& op, const kernels::Walk<3>& all, const Place& out,
               const Operand<T>& a, const Operand<T>& b) {
  for_each_small(all, [&](const Strided<3>& walk, const auto& at) {
    const Place to = out.from(at[0]);
    const Operand<T> left = a.from(at[1]);
    const Operand<T> right = b.from(at[2]);
    if constexpr (kHasPacks<T>) {
      if (const auto packs = packs_of<T>(walk, {to, left.place, right.place})) {
        launcher.map(packs->walk.numel, PackedBinaryBody<Op, T>{packs->walk,
                                                                to,
                                                                {left.place, packs->repeats[1], left.number},
                                                                {right.place, packs->repeats[2], right.number},
                                                                op});
        if (packs->rest.numel == 0) return;
        return launcher.map(packs->rest.numel,
                            BinaryBody<Op, T>{packs->rest, to.from(packs->starts[0]), left.from(packs->starts[1]),
                                              right.from(packs->starts[2]), op});
      }
    }
    launcher.map(walk.numel, BinaryBody<Op, T>{walk, to, left, right, op});
  });
}

template <class Launcher>
void binary_with(const Launcher& launcher, BinaryOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = kernels::make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  const Place to = written(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    const Operand<T> left{read(a)};
    const Operand<T> right{read(b)};
    with_formula<T>(op, [&](const auto& formula) { map_pairs<T>(launcher, formula, walk, to, left, right); });
  });
}

/// The operand that is the number.
enum class NumberSide : std::uint8_t { left, right };

template <class Launcher>
void binary_with_number(const Launcher& launcher, BinaryOp op, Tensor& out, const Tensor& x, double number,
                        NumberSide side) {
  if (out.numel() == 0) return;
  // The strides of the number are not used.
  const auto walk = kernels::make_walk<3>(out.shape(), {&out.strides(), &x.strides(), &x.strides()});
  const Place to = written(out);
  dispatch_compute(out.dtype(), [&]<class T>(std::type_identity<T>) {
    const Operand<T> one{{nullptr, out.dtype()}, static_cast<T>(number)};
    const Operand<T> many{read(x)};
    const bool is_left = side == NumberSide::left;
    with_formula<T>(op, [&](const auto& formula) {
      map_pairs<T>(launcher, formula, walk, to, is_left ? one : many, is_left ? many : one);
    });
  });
}

template <class Launcher>
void compare_with(const Launcher& launcher, CompareOp op, Tensor& out, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  const Place left = read(a);
  const Place right = read(b);
  for_each_small(kernels::make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()}), [&](const auto& walk,
                                                                                                       const auto& at) {
    dispatch_compute(a.dtype(), [&]<class T>(std::type_identity<T>) {
      launcher.map(walk.numel, CompareBody<T>{walk, to.from(at[0]), left.from(at[1]), right.from(at[2]), {op}});
    });
  });
}

template <class Launcher>
void select_with(const Launcher& launcher, Tensor& out, const Tensor& condition, const Tensor& a, const Tensor& b) {
  if (out.numel() == 0) return;
  const Place to = written(out);
  const Place chooses = read(condition);
  const Place left = read(a);
  const Place right = read(b);
  const auto all =
      kernels::make_walk<4>(out.shape(), {&out.strides(), &condition.strides(), &a.strides(), &b.strides()});
  for_each_small(all, [&](const auto& walk, const auto& at) {
    dispatch_bits(out.dtype(), [&]<class T>(std::type_identity<T>) {
      launcher.map(walk.numel,
                   SelectBody<T>{walk, to.from(at[0]), chooses.from(at[1]), left.from(at[2]), right.from(at[3])});
    });
  });
}

template <class Launcher>
void axpby_with(const Launcher& launcher, Tensor& out, double alpha, const Tensor& a, double beta, const Tensor& b) {
  if (out.numel() == 0) return;
  const auto walk = kernels::make_walk<3>(out.shape(), {&out.strides(), &a.strides(), &b.strides()});
  const Place to = written(out);
  dispatch_floating("axpby", out.dtype(), [&]<class T>(std::type_identity<T>) {
    const Axpby<T> formula{static_cast<T>(alpha), static_cast<T>(beta)};
    map_pairs<T>(launcher, formula, walk, to, Operand<T>{read(a)}, Operand<T>{read(b)});
  });
}

}  // namespace troupe::cuda
