#include "autograd/ops/division.h"

#include "autograd/ops.h"
#include "autograd/record.h"
#include "autograd/rounding.h"
#include "tensor/create.h"
#include "tensor/ops.h"

namespace troupe {
namespace {

using detail::edges_of;
using detail::Layout;
using detail::record;
using detail::reduce_to;
using detail::rounded_once;
using detail::Saved;
using detail::saved_for;
using detail::wide;
using Edges = std::span<const Edge>;

/// Records `rest(x, y)`: a - b * quotient, where `quotient(x, y)` is piecewise constant.
template <class Rest, class Quotient>
Variable record_rest(std::string_view name, const Variable& a, const Variable& b, const Rest& rest,
                     const Quotient& quotient) {
  const auto [x, y] = detail::values_of(a, b);
  return record(name, rest(x, y), edges_of({&a, &b}),
                rounded_once([x_layout = Layout(x), y_layout = Layout(y), x = saved_for(b, x), y = saved_for(b, y),
                              quotient](const Tensor& g, Edges to) {
                  return std::vector<Tensor>{
                      to[0] ? reduce_to(x_layout, g) : Tensor(),
                      to[1] ? neg(reduce_to(y_layout, mul(g, quotient(wide(x), wide(y))))) : Tensor()};
                }));
}

/// Records `quotient(x, y)`, an integer that is piecewise constant.
template <class Quotient>
Variable record_whole(std::string_view name, const Variable& a, const Variable& b, const Quotient& quotient) {
  const auto [x, y] = detail::values_of(a, b);
  return record(name, quotient(x, y), edges_of({&a, &b}), [x = Layout(x), y = Layout(y)](const Tensor& g, Edges to) {
    const auto none = [&g](const Layout& of) { return zeros(of.shape, of.dtype, g.device()); };
    return std::vector<Tensor>{to[0] ? none(x) : Tensor(), to[1] ? none(y) : Tensor()};
  });
}

}  // namespace

Variable div(const Variable& a, const Variable& b, Rounding rounding) {
  if (rounding == Rounding::none) return div(a, b);
  return record_whole("div", a, b, [rounding](const Tensor& x, const Tensor& y) { return div(x, y, rounding); });
}

Variable div(const Variable& a, double b, Rounding rounding) {
  if (rounding == Rounding::none) return div(a, b);
  return record("div", div(a.value(), b, rounding), edges_of({&a}), [](const Tensor& g) { return zeros_like(g); });
}

Variable floor_divide(const Variable& a, const Variable& b) {
  return record_whole("floor_divide", a, b, [](const Tensor& x, const Tensor& y) { return floor_divide(x, y); });
}

Variable floor_divide(const Variable& a, double b) {
  return record("floor_divide", floor_divide(a.value(), b), edges_of({&a}),
                [](const Tensor& g) { return zeros_like(g); });
}

Variable fmod(const Variable& a, const Variable& b) {
  const auto rest = [](const Tensor& x, const Tensor& y) { return fmod(x, y); };
  return record_rest("fmod", a, b, rest, [](const Tensor& x, const Tensor& y) { return trunc(div(x, y)); });
}

Variable fmod(const Variable& a, double b) {
  return record("fmod", fmod(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable remainder(const Variable& a, const Variable& b) {
  const auto rest = [](const Tensor& x, const Tensor& y) { return remainder(x, y); };
  return record_rest("remainder", a, b, rest, [](const Tensor& x, const Tensor& y) { return floor_divide(x, y); });
}

Variable remainder(const Variable& a, double b) {
  return record("remainder", remainder(a.value(), b), edges_of({&a}), [](const Tensor& g) { return g; });
}

Variable remainder(double a, const Variable& b) {
  const Tensor y = b.value();
  return record("remainder", remainder(a, y), edges_of({&b}), rounded_once([y = Saved(y), a](const Tensor& g) {
                  return neg(mul(g, floor_divide(full({}, a, g.dtype(), g.device()), wide(y))));
                }));
}

}  // namespace troupe
