"""Functions of each element: arithmetic, with broadcasting, and comparisons."""

import torch
import torch.nn.functional as F

from recipe import booleans, integers, normal, uniform, values

# Shapes that broadcast in every way: equal, by a row, by a column, from both sides, with a scalar, of nothing.
PAIRS = [
    ((2, 3), (2, 3)),
    ((4, 3), (3,)),
    ((2, 1, 5), (3, 1)),
    ((7,), ()),
    ((0, 3), (1, 3)),
]


def add(group):
    for op, function in [("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)]:
        for a, b in PAIRS:
            group.case(op, function, [normal(*a), normal(*b)])
        group.case(op, function, [integers(3, 4, low=-9, high=9), integers(4, low=-9, high=9)])
        group.case(op, function, [integers(3, 4, low=-9, high=9), normal(4)])
        group.case(op + "_number", lambda x, b, f=function: f(x, b), [normal(3, 5)], b=-1.75)
    for a, b in PAIRS:
        group.case("div", torch.div, [normal(*a), uniform(*b, low=0.5, high=2.0)])
        group.case("maximum", torch.maximum, [normal(*a), normal(*b)])
        group.case("minimum", torch.minimum, [normal(*a), normal(*b)])
        group.case("pow_of_two", torch.pow, [uniform(*a, low=0.2, high=3.0), normal(*b)])
    group.case("div", torch.div, [integers(3, 4, low=-9, high=9), normal(4)])
    group.case("div", torch.div, [normal(3), values(0.0, 1.0, -0.0)], grad=False)
    group.case("div_number", lambda x, b: x / b, [normal(3, 5)], b=-1.75)
    group.case("number_sub", lambda x, a: a - x, [normal(3, 5)], a=2.5)
    group.case("number_div", lambda x, a: a / x, [uniform(3, 5, low=0.5, high=2.0)], a=2.5)
    group.case("maximum_number", lambda x, b: torch.clamp(x, min=b), [normal(3, 5)], grad=False, b=0.25)
    group.case("minimum_number", lambda x, b: torch.clamp(x, max=b), [normal(3, 5)], grad=False, b=0.25)
    for op, function in [("maximum", torch.maximum), ("minimum", torch.minimum)]:
        group.case(op, function, [values(float("nan"), 1.0, -1.0), values(0.0, float("nan"), 0.5)], grad=False)
    for exponent in [2.0, 3.0, 0.5, -1.0, 1.0, 0.0, -2.5]:
        group.case("pow", lambda x, exponent: torch.pow(x, exponent), [uniform(3, 4, low=0.2, high=3.0)],
                   exponent=exponent)
    group.case("pow", lambda x, exponent: torch.pow(x, exponent), [normal(5)], exponent=3.0)

    group.case("pow_of_two", torch.pow, [values(0.0, 0.0, 2.0), values(2.0, 1.0, 0.0)])

    anywhere = [normal(3, 4), normal(2, 3, 5), normal(), normal(0, 2)]
    positive = [uniform(3, 4, low=0.1, high=5.0), uniform(2, 1, 3, low=1e-3, high=1e3), uniform(low=0.1), uniform(0)]
    unary = [
        ("neg", torch.neg, anywhere),
        ("abs", torch.abs, anywhere),
        ("exp", torch.exp, anywhere + [uniform(6, low=-80.0, high=80.0)]),
        ("log", torch.log, positive),
        ("sqrt", torch.sqrt, positive),
        ("rsqrt", torch.rsqrt, positive),
        ("expm1", torch.expm1, anywhere + [values(-1e-6, 1e-9, 0.0)]),
        ("log1p", torch.log1p, positive + [values(-1e-6, 1e-9, 0.0)]),
        ("sin", torch.sin, anywhere),
        ("cos", torch.cos, anywhere),
        ("erf", torch.erf, anywhere),
        ("gelu", F.gelu, anywhere + [values(-5.0, -3.0, 1e-3, 0.5, 5.0, 12.0)]),
        ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), anywhere + [values(-5.0, -3.0, 1e-3, 0.5, 5.0, 12.0)]),
        ("silu", F.silu, anywhere + [values(-40.0, -3.0, 1e-3, 0.5, 5.0, 40.0)]),
        ("tanh", torch.tanh, anywhere + [values(-12.0, -3.0, 1e-3, 0.5, 5.0, 12.0)]),
        ("sigmoid", torch.sigmoid, anywhere + [values(-40.0, -3.0, 1e-3, 0.5, 5.0, 40.0)]),
        ("relu", torch.relu, anywhere + [values(0.0, -0.0, 1.0, -1.0)]),
    ]
    for op, function, inputs in unary:
        for x in inputs:
            group.case(op, function, [x])
    some = uniform(5, low=-3.0, high=3.0)
    more = [("frac", torch.frac), ("erfc", torch.erfc), ("exp2", torch.exp2), ("tan", torch.tan), ("atan", torch.atan), ("sinh", torch.sinh), ("cosh", torch.cosh),
            ("asinh", torch.asinh)]
    for op, function in more:
        group.case(op, function, [some])
    for op, function in [("asin", torch.asin), ("acos", torch.acos), ("atanh", torch.atanh)]:
        group.case(op, function, [uniform(5, low=-0.9, high=0.9)])
    for op, function in [("log2", torch.log2), ("log10", torch.log10)]:
        group.case(op, function, [uniform(5, low=0.1, high=9.0)])
    group.case("acosh", torch.acosh, [uniform(5, low=1.1, high=9.0)])
    group.case("logit", torch.logit, [values(0.0, 0.125, 0.75, 1.0, -0.5)])
    group.case("logit_eps", lambda x, eps: torch.logit(x, eps), [values(0.0, 0.125, 0.25, 0.5, 0.875, 1.0)], eps=0.25)
    special = values(0.5, float("nan"), float("inf"), -float("inf"))
    group.case("nan_to_num", lambda x, nan, high: torch.nan_to_num(x, nan, high, -high), [special], nan=2.0, high=9.0)

    pair = [uniform(2, 3, low=-3.0, high=3.0), uniform(3, low=0.4, high=2.0)]
    for op, function in [("atan2", torch.atan2), ("hypot", torch.hypot), ("logaddexp", torch.logaddexp), ("xlogy", torch.xlogy),
                         ("fmod", torch.fmod), ("remainder", torch.remainder), ("copysign", torch.copysign),
                         ("clamp_min", torch.clamp_min), ("clamp_max", torch.clamp_max)]:
        group.case(op, function, pair)
    whole = values(7, -7, 7, -7, dtype=int), values(3, 3, -3, -3, dtype=int)
    group.case("floor_divide", torch.floor_divide, pair, grad=False)
    for op, function in [("fmod", torch.fmod), ("remainder", torch.remainder), ("floor_divide", torch.floor_divide)]:
        group.case(op, function, list(whole))
    group.case("xlogy", torch.xlogy, [values(0.0, 0.0, 2.0), values(0.0, -1.0, 4.0)])
    group.case("isclose", lambda a, b, rtol, atol: torch.isclose(a, b, rtol, atol),
               [values(1.0, 1.0, float("inf"), float("nan")), values(1.1, 1.3, float("inf"), float("nan"))], grad=False, rtol=0.1, atol=0.1)
    few = [uniform(2, 1, low=-3.0, high=3.0), uniform(3, low=0.4, high=2.0), uniform(2, 3, low=0.4, high=2.0)]
    group.case("lerp", torch.lerp, few)
    group.case("lerp_number", lambda a, b, weight: torch.lerp(a, b, weight), few[:2], weight=0.3)
    group.case("addcmul", lambda x, a, b, value: torch.addcmul(x, a, b, value=value), few, value=0.5)
    group.case("addcdiv", lambda x, a, b, value: torch.addcdiv(x, a, b, value=value), few, value=0.5)

    for beta in [1.0, 0.5, 3.0]:
        group.case("softplus", lambda x, beta: F.softplus(x, beta, threshold=1000), [uniform(3, 5, low=-9, high=9)], beta=beta)
    for op, function in [("floor", torch.floor), ("ceil", torch.ceil), ("round", torch.round), ("sign", torch.sign)]:
        group.case(op, function, [uniform(3, 5, low=-9.0, high=9.0)], grad=False)
        group.case(op, function, [values(-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5)], grad=False)
    for op, function in [("logical_and", torch.logical_and), ("logical_or", torch.logical_or), ("logical_xor", torch.logical_xor)]:
        group.case(op, function, [booleans(3, 4), booleans(3, 1)])
        group.case(op, function, [values(0.0, -0.0, float("nan"), 1.0), values(0.0, 1.0, 0.0, 2.0)], grad=False)
    for op, function in [("logical_not", torch.logical_not), ("isnan", torch.isnan), ("isfinite", torch.isfinite)]:
        group.case(op, function, [values(0.0, float("nan"), float("inf"), -float("inf"), 1.0)], grad=False)
    for low, high in [(-0.5, 0.75), (0.0, 0.0), (-1e30, 1e30)]:
        group.case("clamp", lambda x, low, high: torch.clamp(x, low, high), [normal(3, 5)], low=low,
                   high=high)
    group.case("where", torch.where, [booleans(3, 4), normal(3, 4), normal(3, 4)])
    group.case("where", torch.where, [booleans(3, 1), normal(4), normal(2, 1, 1)])
    group.case("cast", lambda x, to: x.to(torch.float64), [normal(3, 4)], to="f64")
    group.case("cast", lambda x, to: x.to(torch.float32), [normal(3, 4)], to="f32")
    group.case("cast", lambda x, to: x.to(torch.int64), [uniform(9, low=-5.0, high=5.0)], grad=False, to="i64")

    for op, function in [("eq", torch.eq), ("ne", torch.ne), ("lt", torch.lt), ("le", torch.le), ("gt", torch.gt),
                         ("ge", torch.ge)]:
        group.case(op, function, [integers(3, 4, high=3), integers(4, high=3)])
        group.case(op, function, [normal(3, 4), normal(3, 1)], grad=False)
        group.case(op, function, [values(0.0, float("nan"), 1.0), values(-0.0, float("nan"), 2.0)], grad=False)
        group.case(op + "_number", lambda x, b, f=function: f(x, b), [integers(3, 4, high=3)], b=1.0)

    group.case("axpby_into", lambda out, a, b, alpha, beta: alpha * a + beta * b,
               [normal(3, 4), normal(3, 4), normal(3, 4)], grad=False, alpha=0.5, beta=-1.25)
    group.case("add_into", lambda out, a: out + a, [normal(3, 4), normal(3, 4)], grad=False)
    group.case("scale_into", lambda out, alpha: out * alpha, [normal(3, 4)], grad=False, alpha=-0.75)
