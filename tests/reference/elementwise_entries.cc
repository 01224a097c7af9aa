#include "autograd/ops.h"
#include "tests/reference/entries.h"

namespace troupe::reference {
namespace {

Entry unary(Variable (*op)(const Variable&)) {
  return [op](const Case& c) { return op(c.in(0)); };
}
Entry binary(Variable (*op)(const Variable&, const Variable&)) {
  return [op](const Case& c) { return op(c.in(0), c.in(1)); };
}
Entry with_number(Variable (*op)(const Variable&, double)) {
  return [op](const Case& c) { return op(c.in(0), c.number("b")); };
}
Entry binary(Tensor (*op)(const Tensor&, const Tensor&)) {
  return [op](const Case& c) { return op(c.tensor(0), c.tensor(1)); };
}
Entry with_number(Tensor (*op)(const Tensor&, double)) {
  return [op](const Case& c) { return op(c.tensor(0), c.number("b")); };
}

using OfTwo = Variable (*)(const Variable&, const Variable&);
using OfNumber = Variable (*)(const Variable&, double);
using OfTwoTensors = Tensor (*)(const Tensor&, const Tensor&);
using OfTensorAndNumber = Tensor (*)(const Tensor&, double);

}  // namespace

Entries elementwise_entries() {
  return {
      {"add", binary(OfTwo(&add))},
      {"add_number", with_number(OfNumber(&add))},
      {"sub", binary(OfTwo(&sub))},
      {"sub_number", with_number(OfNumber(&sub))},
      {"number_sub", [](const Case& c) { return c.number("a") - c.in(0); }},
      {"mul", binary(OfTwo(&mul))},
      {"mul_number", with_number(OfNumber(&mul))},
      {"div", binary(OfTwo(&div))},
      {"div_number", with_number(OfNumber(&div))},
      {"number_div", [](const Case& c) { return c.number("a") / c.in(0); }},
      {"maximum", binary(OfTwo(&maximum))},
      {"maximum_number", with_number(OfTensorAndNumber(&maximum))},
      {"minimum", binary(OfTwo(&minimum))},
      {"minimum_number", with_number(OfTensorAndNumber(&minimum))},
      {"pow", [](const Case& c) { return pow(c.in(0), c.number("exponent")); }},
      {"pow_of_two", binary(OfTwo(&pow))},
      {"neg", unary(&neg)},
      {"abs", unary(&abs)},
      {"exp", unary(&exp)},
      {"log", unary(&log)},
      {"sqrt", unary(&sqrt)},
      {"rsqrt", unary(&rsqrt)},
      {"expm1", unary(&expm1)},
      {"log1p", unary(&log1p)},
      {"sin", unary(&sin)},
      {"cos", unary(&cos)},
      {"erf", unary(&erf)},
      {"frac", unary(&frac)},
      {"erfc", unary(&erfc)},
      {"exp2", unary(&exp2)},
      {"log2", unary(&log2)},
      {"log10", unary(&log10)},
      {"logit", [](const Case& c) { return logit(c.in(0)); }},
      {"logit_eps", [](const Case& c) { return logit(c.in(0), c.number("eps")); }},
      {"tan", unary(&tan)},
      {"asin", unary(&asin)},
      {"acos", unary(&acos)},
      {"atan", unary(&atan)},
      {"sinh", unary(&sinh)},
      {"cosh", unary(&cosh)},
      {"asinh", unary(&asinh)},
      {"acosh", unary(&acosh)},
      {"atanh", unary(&atanh)},
      {"nan_to_num",
       [](const Case& c) {
         return nan_to_num(c.in(0), {.nan = c.number("nan"), .posinf = c.number("high"), .neginf = -c.number("high")});
       }},
      {"atan2", binary(OfTwo(&atan2))},
      {"hypot", binary(OfTwo(&hypot))},
      {"logaddexp", binary(OfTwo(&logaddexp))},
      {"xlogy", binary(OfTwo(&xlogy))},
      {"fmod", binary(OfTwo(&fmod))},
      {"remainder", binary(OfTwo(&remainder))},
      {"floor_divide", binary(OfTwo(&floor_divide))},
      {"copysign", binary(OfTwo(&copysign))},
      {"clamp_min", binary(OfTwo(&clamp_min))},
      {"clamp_max", binary(OfTwo(&clamp_max))},
      {"isclose", [](const Case& c) { return isclose(c.tensor(0), c.tensor(1), c.number("rtol"), c.number("atol")); }},
      {"lerp", [](const Case& c) { return lerp(c.in(0), c.in(1), c.in(2)); }},
      {"lerp_number", [](const Case& c) { return lerp(c.in(0), c.in(1), c.number("weight")); }},
      {"addcmul", [](const Case& c) { return addcmul(c.in(0), c.in(1), c.in(2), c.number("value")); }},
      {"addcdiv", [](const Case& c) { return addcdiv(c.in(0), c.in(1), c.in(2), c.number("value")); }},
      {"gelu", [](const Case& c) { return gelu(c.in(0)); }},
      {"gelu_tanh", [](const Case& c) { return gelu(c.in(0), Gelu::tanh); }},
      {"silu", unary(&silu)},
      {"softplus", [](const Case& c) { return softplus(c.in(0), c.number("beta"), 1000.0); }},
      {"floor", [](const Case& c) { return floor(c.tensor(0)); }},
      {"ceil", [](const Case& c) { return ceil(c.tensor(0)); }},
      {"round", [](const Case& c) { return round(c.tensor(0)); }},
      {"sign", [](const Case& c) { return sign(c.tensor(0)); }},
      {"logical_and", binary(OfTwoTensors(&logical_and))},
      {"logical_or", binary(OfTwoTensors(&logical_or))},
      {"logical_xor", binary(OfTwoTensors(&logical_xor))},
      {"logical_not", [](const Case& c) { return logical_not(c.tensor(0)); }},
      {"isnan", [](const Case& c) { return isnan(c.tensor(0)); }},
      {"isfinite", [](const Case& c) { return isfinite(c.tensor(0)); }},
      {"tanh", unary(&tanh)},
      {"sigmoid", unary(&sigmoid)},
      {"relu", unary(&relu)},
      {"clamp", [](const Case& c) { return clamp(c.in(0), c.number("low"), c.number("high")); }},
      {"where", [](const Case& c) { return where(c.tensor(0), c.in(1), c.in(2)); }},
      {"cast", [](const Case& c) { return cast(c.in(0), parse_dtype(c.text("to"))); }},
      {"eq", binary(OfTwoTensors(&eq))},
      {"eq_number", with_number(OfTensorAndNumber(&eq))},
      {"ne", binary(OfTwoTensors(&ne))},
      {"ne_number", with_number(OfTensorAndNumber(&ne))},
      {"lt", binary(OfTwoTensors(&lt))},
      {"lt_number", with_number(OfTensorAndNumber(&lt))},
      {"le", binary(OfTwoTensors(&le))},
      {"le_number", with_number(OfTensorAndNumber(&le))},
      {"gt", binary(OfTwoTensors(&gt))},
      {"gt_number", with_number(OfTensorAndNumber(&gt))},
      {"ge", binary(OfTwoTensors(&ge))},
      {"ge_number", with_number(OfTensorAndNumber(&ge))},
      {"axpby_into",
       [](const Case& c) {
         Tensor out = c.tensor(0).clone();
         axpby_into(out, c.number("alpha"), c.tensor(1), c.number("beta"), c.tensor(2));
         return out;
       }},
      {"add_into",
       [](const Case& c) {
         Tensor out = c.tensor(0).clone();
         add_into(out, c.tensor(1));
         return out;
       }},
      {"scale_into",
       [](const Case& c) {
         Tensor out = c.tensor(0).clone();
         scale_into(out, c.number("alpha"));
         return out;
       }},
  };
}

}  // namespace troupe::reference
