"""Reductions: over everything, over some dimensions, kept or not."""

import torch

from recipe import booleans, distinct, integers, normal, uniform

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
        group.case(op, function, [distinct(3, 4)], grad=False)
        group.case(op, function, [distinct(1)], grad=False)
        group.case(op, function, [integers(3, 4, low=-9, high=9)])
        for axes, keep in AXES:
            group.case(op + "_axes", lambda x, axes, keep, f=function: f(x, axes, keep), [distinct(3, 5, 7)],
                       grad=False, axes=axes, keep=keep)
    for dim, keep in [(0, False), (1, True), (-1, False)]:
        group.case("argmax", lambda x, dim, keep: torch.argmax(x, dim, keep), [distinct(3, 5, 7)], dim=dim, keep=keep)
        group.case("argmax", lambda x, dim, keep: torch.argmax(x, dim, keep), [integers(3, 5, 7, high=3)],
                   dim=dim, keep=keep)
    for axes, keep in AXES:
        group.case("logsumexp", lambda x, axes, keep: torch.logsumexp(x, axes, keep), [normal(3, 5, 7)], grad=False,
                   axes=axes, keep=keep)
    group.case("logsumexp", lambda x, axes, keep: torch.logsumexp(x, axes, keep),
               [uniform(4, 6, low=-900.0, high=900.0)], grad=False, axes=(1,), keep=False)
    for given, shape in [((2, 3, 4), (3, 1)), ((2, 3), (2, 3)), ((4, 3), ()), ((2, 3, 4), (1, 1, 4)), ((0, 3), (3,))]:
        group.case("sum_to", lambda x, shape: x.sum_to_size(shape), [normal(*given)], grad=False, shape=shape)
