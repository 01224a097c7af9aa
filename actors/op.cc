#include "actors/op.h"

#include <memory>
#include <string>
#include <type_traits>

#include "actors/function_registry.h"

namespace troupe::detail {
namespace {

template <class F>
std::string with_parameters(const char* name) {
  std::string text = std::string(name) + "(";
  [&]<class... P>(std::type_identity<std::tuple<P...>>) {
    ((text += schema_of<P>() + ","), ...);
  }(std::type_identity<WireOf<F>>{});
  text.back() = ')';
  return text;
}

template <auto... Functions>
void add(FunctionRegistry& registry, const Operation<Functions...>& operation) {
  registry = registry.with({Registration(with_parameters<decltype(Functions)>(operation.name), Functions)...});
}

template <class... Operations>
FunctionRegistry registry_of(const Operations&... operations) {
  FunctionRegistry registry;
  (add(registry, operations), ...);
  return registry;
}

FunctionRegistry all_operations() {
  return registry_of(op::zeros, op::ones, op::add, op::sub, op::mul, op::div, op::neg, op::abs, op::exp, op::log,
                     op::expm1, op::log1p, op::sqrt, op::rsqrt, op::sin, op::cos, op::erf, op::tanh, op::sigmoid,
                     op::relu, op::silu, op::square, op::reciprocal, op::exp2, op::log2, op::log10, op::logit, op::tan,
                     op::asin, op::acos, op::atan, op::sinh, op::cosh, op::asinh, op::acosh, op::atanh, op::erfc,
                     op::floor, op::ceil, op::round, op::trunc, op::frac, op::sign, op::sum, op::mean, op::max, op::min,
                     op::maximum, op::minimum, op::pow, op::matmul, op::bmm, op::outer, op::cumsum, op::softmax,
                     op::log_softmax, op::index_select);
}

}  // namespace

/// Never destroyed: a node may serve calls while its process exits.
const FunctionRegistry& operations() {
  static const auto& registry = *std::make_unique<const FunctionRegistry>(all_operations()).release();
  return registry;
}

}  // namespace troupe::detail
