// Tensor operations that every node serves without registration: `scope.rpc_sync("ps0", op::add, x, 1.0)`.
//
// Operations take Tensors or Variables and return the same kind; the arguments choose the overload at compile time.
// Shapes, dtypes and errors: tensor/ops.h and autograd/ops.h.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "actors/calls/callee.h"
#include "autograd/ops.h"
#include "autograd/ops/nn.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe {

class FunctionRegistry;

namespace detail {

/// One operation: a list of functions; the first that accepts the arguments is called.
template <auto... Functions>
struct Operation {
  const char* name = nullptr;
};

template <class F, class... Args>
[[nodiscard]] constexpr bool takes() {
  return []<class... P>(std::type_identity<std::tuple<P...>>) {
    if constexpr (sizeof...(P) != sizeof...(Args)) return false;
    else return (converts<P, Args>() && ...);
  }(std::type_identity<WireOf<F>>{});
}

template <class... Args>
struct Arguments {};

template <class... Args, auto First, auto... Rest>
[[nodiscard]] constexpr auto first_that_takes(Arguments<Args...> arguments, Operation<First, Rest...> /*forms*/) {
  if constexpr (takes<decltype(First), Args...>()) return First;
  else return first_that_takes(arguments, Operation<Rest...>{});
}

template <auto... Functions>
struct Callee<Operation<Functions...>> {
  template <class... Args>
  [[nodiscard]] static constexpr auto choose(const Operation<Functions...>& operation) noexcept {
    constexpr bool fits = (takes<decltype(Functions), Args...>() || ...);
    static_assert(fits, "no form of this operation takes these arguments");
    if constexpr (fits) return first_that_takes(Arguments<Args...>{}, operation);
    else return std::get<0>(std::tuple(Functions...));  // one error is enough
  }
  template <class Call, class... Args>
  static decltype(auto) complete(const Operation<Functions...>& /*operation*/, Call&& call, Args&&... args) {
    return std::forward<Call>(call)(std::forward<Args>(args)...);
  }
};

/// Returns the functions of all operations, under names like "op::add(tensor,f64)". Immutable.
[[nodiscard]] const FunctionRegistry& operations();

inline Tensor zeros_of(const Shape& shape) { return zeros(shape); }
inline Tensor ones_of(const Shape& shape) { return ones(shape); }

template <class T>
using UnaryForm = T(const T&);
template <class T>
using BinaryForm = T(const T&, const T&);
template <class T>
using ScalarForm = T(const T&, double);
template <class T>
using DimForm = T(const T&, int);

}  // namespace detail

namespace op {

inline constexpr detail::Operation<&detail::zeros_of> zeros{"op::zeros"};
inline constexpr detail::Operation<&detail::ones_of> ones{"op::ones"};

// In this namespace the operations' names hide the functions of the same names, so each is written out.
#define TROUPE_FORM(form, function) \
  overload<detail::form<Tensor>>(&troupe::function), overload<detail::form<Variable>>(&troupe::function)
#define TROUPE_UNARY(function) \
  inline constexpr detail::Operation<TROUPE_FORM(UnaryForm, function)> function { "op::" #function }
#define TROUPE_BINARY(function)                                                                                       \
  inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, function), TROUPE_FORM(ScalarForm, function)> function { \
    "op::" #function                                                                                                  \
  }

TROUPE_BINARY(add);
TROUPE_BINARY(sub);
TROUPE_BINARY(mul);
TROUPE_BINARY(div);
TROUPE_UNARY(neg);
TROUPE_UNARY(abs);
TROUPE_UNARY(exp);
TROUPE_UNARY(log);
TROUPE_UNARY(expm1);
TROUPE_UNARY(log1p);
TROUPE_UNARY(sqrt);
TROUPE_UNARY(rsqrt);
TROUPE_UNARY(sin);
TROUPE_UNARY(cos);
TROUPE_UNARY(erf);
TROUPE_UNARY(tanh);
TROUPE_UNARY(sigmoid);
TROUPE_UNARY(relu);
TROUPE_UNARY(silu);
TROUPE_UNARY(square);
TROUPE_UNARY(reciprocal);
TROUPE_UNARY(exp2);
TROUPE_UNARY(log2);
TROUPE_UNARY(log10);
TROUPE_UNARY(logit);
TROUPE_UNARY(tan);
TROUPE_UNARY(asin);
TROUPE_UNARY(acos);
TROUPE_UNARY(atan);
TROUPE_UNARY(sinh);
TROUPE_UNARY(cosh);
TROUPE_UNARY(asinh);
TROUPE_UNARY(acosh);
TROUPE_UNARY(atanh);
TROUPE_UNARY(erfc);
TROUPE_UNARY(floor);
TROUPE_UNARY(ceil);
TROUPE_UNARY(round);
TROUPE_UNARY(trunc);
TROUPE_UNARY(frac);
TROUPE_UNARY(sign);
TROUPE_UNARY(sum);
TROUPE_UNARY(mean);
TROUPE_UNARY(max);
TROUPE_UNARY(min);
inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, maximum)> maximum{"op::maximum"};
inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, minimum)> minimum{"op::minimum"};
inline constexpr detail::Operation<TROUPE_FORM(ScalarForm, pow)> pow{"op::pow"};
inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, matmul)> matmul{"op::matmul"};
inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, bmm)> bmm{"op::bmm"};
inline constexpr detail::Operation<TROUPE_FORM(BinaryForm, outer)> outer{"op::outer"};
inline constexpr detail::Operation<TROUPE_FORM(DimForm, cumsum)> cumsum{"op::cumsum"};
inline constexpr detail::Operation<TROUPE_FORM(DimForm, softmax)> softmax{"op::softmax"};
inline constexpr detail::Operation<TROUPE_FORM(DimForm, log_softmax)> log_softmax{"op::log_softmax"};
inline constexpr detail::Operation<overload<Tensor(const Tensor&, int, const Tensor&)>(&troupe::index_select),
                                   overload<Variable(const Variable&, int, const Tensor&)>(&troupe::index_select)>
    index_select{"op::index_select"};

#undef TROUPE_BINARY
#undef TROUPE_UNARY
#undef TROUPE_FORM

}  // namespace op
}  // namespace troupe
