"""Reductions: over everything, over some dimensions, kept or not."""

import torch

from recipe import booleans, distinct, integers, normal, uniform, values

AXES = [((1,), False), ((0,), True), ((0, 2), False), ((-1, 0), True), ((0, 1, 2), False)]


def add(group):
    for op, function in [("sum", torch.sum), ("mean", torch.mean)]:
        group.case(op, function, [normal(3, 4)])
        group.case(op, function, [normal(1)])
        group.case(op, function, [normal()])
        group.case(op, function, [normal(2, 3, 4, 5)])
        group.case(op, function, [normal(0, 3)])
        for axes, keep in AXES:
            group.case(op + "_axes", lambda x, axes, keep, f=function: f(x, axes, keep), [normal(3, 5, 7)], axes=axes,
                       keep=keep)
        group.case(op + "_axes", lambda x, axes, keep, f=function: f(x, axes, keep), [normal(3, 0, 2)], axes=(2,),
                   keep=False)
    group.case("sum", torch.sum, [integers(3, 4, low=-9, high=9)])
    group.case("sum", torch.sum, [booleans(3, 4)])
    group.case("sum_axes", lambda x, axes, keep: torch.sum(x, axes, keep), [normal(3, 0, 2)], axes=(1,), keep=True)

    for op, function in [("max", torch.amax), ("min", torch.amin)]:
        group.case(op, function, [distinct(3, 4)])
        group.case(op, function, [distinct(1)])
        group.case(op, function, [integers(3, 4, low=-9, high=9)])
        for axes, keep in AXES:
            group.case(op + "_axes", lambda x, axes, keep, f=function: f(x, axes, keep), [distinct(3, 5, 7)],
                       axes=axes, keep=keep)
    for dim, keep in [(0, False), (1, True), (-1, False)]:
        group.case("argmax", lambda x, dim, keep: torch.argmax(x, dim, keep), [distinct(3, 5, 7)], dim=dim, keep=keep)
        group.case("argmax", lambda x, dim, keep: torch.argmax(x, dim, keep), [integers(3, 5, 7, high=3)],
                   dim=dim, keep=keep)
    for axes, keep in AXES:
        group.case("logsumexp", lambda x, axes, keep: torch.logsumexp(x, axes, keep), [normal(3, 5, 7)],
                   axes=axes, keep=keep)
    group.case("logsumexp", lambda x, axes, keep: torch.logsumexp(x, axes, keep),
               [uniform(4, 6, low=-900.0, high=900.0)], axes=(1,), keep=False)
    for given, shape in [((2, 3, 4), (3, 1)), ((2, 3), (2, 3)), ((4, 3), ()), ((2, 3, 4), (1, 1, 4)), ((0, 3), (3,))]:
        group.case("sum_to", lambda x, shape: x.sum_to_size(shape), [normal(*given)], grad=False, shape=shape)

    for x in [normal(3, 4), normal(), values(2.0, 0.0, 5.0), values(0.0, 0.0, 5.0)]:
        group.case("prod", torch.prod, [x])
    group.case("prod", torch.prod, [integers(3, 2, low=-9, high=9)])
    for dim, keep in [(0, False), (1, True), (-1, False)]:
        group.case("prod_axes", lambda x, axes, keep: torch.prod(x, axes[0], keep), [normal(3, 5, 7)], axes=(dim,), keep=keep)
        group.case("argmin", lambda x, dim, keep: torch.argmin(x, dim, keep), [distinct(3, 5, 7)], dim=dim, keep=keep)
        for op, function in [("any_axes", torch.any), ("all_axes", torch.all)]:
            group.case(op, lambda x, axes, keep, f=function: f(x, axes[0], keep), [booleans(2, 3, 2)], axes=(dim,), keep=keep)
    for x in [normal(3, 4), normal(2, 3, 4)]:
        group.case("var", torch.var, [x])
        group.case("stddev", torch.std, [x])
    for axes, keep in AXES:
        for correction in [0, 1]:
            group.case("var_axes", lambda x, axes, keep, correction: torch.var(x, axes, correction=correction, keepdim=keep),
                       [normal(3, 5, 7)], axes=axes, keep=keep, correction=correction)
            group.case("stddev_axes", lambda x, axes, keep, correction: torch.std(x, axes, correction=correction, keepdim=keep),
                       [normal(3, 5, 7)], axes=axes, keep=keep, correction=correction)
        for p in [1.0, 2.0, 3.0, 2.5, float("inf")]:
            group.case("norm", lambda x, p, axes, keep: torch.linalg.vector_norm(x, p, axes, keep), [distinct(3, 5, 7)], p=p,
                       axes=axes, keep=keep)
    for given, dim in [((3, 5), 0), ((3, 5), 1), ((2, 3, 4), -2), ((4,), 0), ((0, 3), 0)]:
        group.case("cumsum", lambda x, dim: torch.cumsum(x, dim), [normal(*given)], dim=dim)
    group.case("cumsum", lambda x, dim: torch.cumsum(x, dim), [integers(3, 4, low=-9, high=9)], dim=1)
