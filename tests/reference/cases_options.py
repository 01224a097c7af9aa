"""Which dtype a result has, and options that several operations have."""

import torch
import torch.nn.functional as F

from recipe import booleans, distinct, integers, normal, uniform, values

NAN = float("nan")


def add(group):
    whole = integers(2, 3, low=-9, high=9)
    for op, function in [("sum_of_two", torch.add), ("product_of_two", torch.mul), ("quotient_of_two", torch.div)]:
        group.case(op, function, [whole, normal()], grad=False)
        group.case(op, function, [normal(3), integers(low=1, high=9)])
        group.case(op, function, [booleans(4), integers(low=1, high=9)])
        group.case(op, function, [booleans(4), normal()], grad=False)
    for op, function in [("sum_of_two", torch.add), ("product_of_two", torch.mul)]:
        group.case(op, function, [booleans(2, 3), booleans(3)])
        group.case(op, function, [whole, booleans(3)])
    for b in [2.5, -0.5, 1e30]:
        group.case("sum_with", lambda x, b: x + b, [whole], b=b)
        group.case("product_with", lambda x, b: x * b, [whole], b=b)
        group.case("greater_than", lambda x, b: x > b, [whole], b=b)
    group.case("product_with", lambda x, b: x * b, [booleans(4)], b=2.5)
    group.case("sum_with", lambda x, b: x + int(b), [booleans(4)], b=3.0)
    group.case("limited", lambda x, low, high: torch.clamp(x, low, high), [whole], low=-2.5, high=1.5)
    group.case("chosen", torch.where, [booleans(3), normal(3), integers(low=1, high=9)])

    for exponent in [0, 1, 2, 3, 7]:
        group.case("whole_power", lambda x, exponent: x ** int(exponent), [whole], exponent=float(exponent))
    group.case("whole_power", lambda x, exponent: x ** exponent, [integers(4, low=1, high=9)], exponent=0.5)
    group.case("whole_power", lambda x, exponent: x ** exponent, [integers(4, low=1, high=9)], exponent=-1.0)
    group.case("whole_power", lambda x, exponent: x ** int(exponent), [booleans(4)], exponent=2.0)
    group.case("power_of_two", torch.pow, [integers(5, 1, low=-3, high=4), integers(6, low=-3, high=12)])
    group.case("power_of_two", torch.pow, [values(-1, -1, 0, 0, 2, 1, dtype=int), values(-3, -2, -1, 0, -5, -9, dtype=int)])
    group.case("whole_product", torch.matmul, [integers(3, 4, low=-9, high=9), integers(4, 2, low=-9, high=9)])
    group.case("whole_product", torch.matmul, [integers(2, 3, 4, low=-9, high=9), integers(4, low=-9, high=9)])
    group.case("whole_product", torch.matmul, [integers(5, low=-9, high=9), integers(5, low=-9, high=9)])
    group.case("sign_of", torch.sign, [values(NAN, -2.0, 0.0, -0.0, 3.0)], grad=False)
    group.case("sign_of", torch.sign, [booleans(4)])
    for shape, axes in [((0, 3), (0,)), ((0,), (0,)), ((2, 0, 3), (1, 2)), ((3, 0), (0,))]:
        group.case("logsumexp_of_nothing", lambda x, axes: torch.logsumexp(x, axes), [normal(*shape)], grad=False, axes=axes)

    for op, function in [("add_alpha", torch.add), ("sub_alpha", torch.sub)]:
        group.case(op, lambda a, b, alpha, f=function: f(a, b, alpha=alpha), [normal(2, 1), normal(3)], alpha=-0.75)
        group.case(op, lambda a, b, alpha, f=function: f(a, b, alpha=int(alpha)), [whole, integers(3, low=-9, high=9)], alpha=3.0)
    for mode in ["trunc", "floor"]:
        group.case("div_rounded", lambda a, b, mode: torch.div(a, b, rounding_mode=mode),
                   [normal(3, 4), uniform(4, low=0.1, high=2.0)], mode=mode)
        group.case("div_rounded", lambda a, b, mode: torch.div(a, b, rounding_mode=mode),
                   [integers(3, 4, low=-9, high=9), values(-3, 2, 1, 4, dtype=int)], mode=mode)
        group.case("div_rounded", lambda a, b, mode: torch.div(a, b, rounding_mode=mode),
                   [values(-7.0, 7.0, 0.0), values(0.0, 0.0, 0.0)], grad=False, mode=mode)
    for op, function in [("argmax_of_all", torch.argmax), ("argmin_of_all", torch.argmin)]:
        group.case(op, function, [distinct(3, 4)], grad=False)
        group.case(op, function, [integers(3, 4, low=0, high=3)])
    group.case("squeeze_all", torch.squeeze, [normal(1, 2, 1, 3)])
    group.case("expand_some", lambda x, shape: x.expand(shape), [normal(2, 1)], shape=(4, -1, 3))
    for shifts, dims in [((1, 2), (0, 1)), ((-1, 4), (1, 0)), ((1, 1), (0, 0))]:
        group.case("roll_dims", lambda x, shifts, dims: torch.roll(x, shifts, dims), [normal(3, 4)], shifts=shifts, dims=dims)
    group.case("roll_all", lambda x, shift: torch.roll(x, shift), [normal(3, 4)], shift=-5)
    for beta, threshold in [(1.0, 20.0), (2.0, 1.0), (0.5, 3.0)]:
        group.case("softplus_threshold", lambda x, beta, threshold: F.softplus(x, beta, threshold),
                   [values(-30.0, -1.0, 0.25, 0.75, 5.0, 7.0, 25.0, 45.0)], beta=beta, threshold=threshold)
    group.case("bilinear", F.bilinear, [normal(3, 2), normal(3, 4), normal(5, 2, 4), normal(5)])
    group.case("bilinear", F.bilinear, [normal(2, 2, 3), normal(2, 2, 2), normal(1, 3, 2)])
    for given, size, alpha, beta, k in [((2, 4, 3), 3, 1e-4, 0.75, 1.0), ((1, 5, 2, 3), 2, 0.5, 0.75, 2.0), ((1, 3, 2), 5, 1.0, 0.5, 1.0)]:
        group.case("local_response_norm", lambda x, size, alpha, beta, k: F.local_response_norm(x, size, alpha, beta, k),
                   [normal(*given)], size=size, alpha=alpha, beta=beta, k=k)
    for kernel, dilation in [(2, 1), (3, 1), (4, 2), (1, 3)]:
        group.case("conv1d_same", lambda x, w, b, dilation: F.conv1d(x, w, b, padding="same", dilation=dilation),
                   [normal(1, 2, 7), normal(2, 2, kernel), normal(2)], dilation=dilation)
    group.case("conv2d_same", lambda x, w, dilation: F.conv2d(x, w, padding="same", dilation=dilation),
               [normal(1, 2, 4, 5), normal(2, 2, 2, 3)], dilation=(1, 2))
