"""Shapes and indices: operations that move elements and compute nothing."""

import torch
import torch.nn.functional as F

from recipe import booleans, distinct, integers, normal


def add(group):
    for given, shape in [((2, 6), (3, 4)), ((2, 3, 4), (4, -1)), ((6,), (1, 2, 3)), ((1,), ()), ((0, 3), (3, 0, 2))]:
        group.case("reshape", torch.reshape, [normal(*given)], shape=shape)
    for given, first, last in [((2, 3, 4), 0, -1), ((2, 3, 4), 1, 2), ((2, 3, 4, 5), 0, 1), ((), 0, -1), ((0, 3), 0, 1)]:
        group.case("flatten", lambda x, first, last: torch.flatten(x, first, last), [normal(*given)], first=first,
                   last=last)
    for given, a, b in [((2, 3), 0, 1), ((2, 3, 4), 0, 2), ((2, 3, 4), -2, -1), ((5, 0, 2), 0, 1)]:
        group.case("transpose", lambda x, a, b: torch.transpose(x, a, b), [normal(*given)], a=a, b=b)
    for given, dims in [((2, 3, 4), (2, 0, 1)), ((2, 3, 4, 5), (0, 3, 1, 2)), ((3,), (0,)), ((2, 3), (-1, 0))]:
        group.case("permute", torch.permute, [normal(*given)], dims=dims)
    for given, dim in [((2, 1, 3), 1), ((1,), 0), ((3, 1), -1)]:
        group.case("squeeze", lambda x, dim: torch.squeeze(x, dim), [normal(*given)], dim=dim)
    for given, dim in [((2, 3), 0), ((2, 3), 1), ((2, 3), -1), ((), 0)]:
        group.case("unsqueeze", lambda x, dim: torch.unsqueeze(x, dim), [normal(*given)], dim=dim)
    for given, shape in [((3, 1), (3, 4)), ((3,), (2, 3)), ((), (2, 2)), ((1, 3), (0, 3))]:
        group.case("expand", lambda x, shape: x.expand(shape), [normal(*given)], shape=shape)
    for given, dim, begin, end, step in [((5, 3), 0, 1, 4, 1), ((5, 3), 1, 0, 3, 2), ((2, 7), -1, 6, 7, 1),
                                         ((5, 3), 0, 2, 2, 1), ((4, 9, 2), 1, 1, 9, 3)]:
        def sliced(x, dim, begin, end, step):
            index = [slice(None)] * x.dim()
            index[dim] = slice(begin, end, step)
            return x[tuple(index)]
        group.case("slice", sliced, [normal(*given)], dim=dim, begin=begin, end=end, step=step)
    for given, dim, index in [((5, 3), 0, 2), ((5, 3), 1, -1), ((2, 3, 4), 1, 0), ((3,), 0, 1)]:
        group.case("select", lambda x, dim, index: torch.select(x, dim, index), [normal(*given)], dim=dim, index=index)
    for shapes, dim in [([(2, 3), (4, 3)], 0), ([(2, 3), (2, 1), (2, 2)], 1), ([(2, 3)], -1), ([(0, 3), (2, 3)], 0)]:
        group.case("concat", lambda *x, dim: torch.cat(x, dim), [normal(*s) for s in shapes], dim=dim)
    for count, shape, dim in [(3, (2, 3), 0), (2, (2, 3), 2), (2, (2, 3), -1), (1, (4,), 0), (2, (), 0)]:
        group.case("stack", lambda *x, dim: torch.stack(x, dim), [normal(*shape)] * count, dim=dim)
    for given, dim, count in [((5, 3), 0, 7), ((5, 3), 1, 2), ((4, 3, 2), -1, 5), ((5, 3), 0, 0)]:
        group.case("index_select", lambda x, index, dim: torch.index_select(x, dim, index),
                   [normal(*given), integers(count, high=given[dim])], dim=dim)
    for rows, width, shape in [(7, 4, (5,)), (7, 4, (2, 3)), (3, 1, (20,)), (5, 2, (0,)), (5, 2, ())]:
        group.case("embedding", lambda w, index: F.embedding(index, w), [normal(rows, width), integers(*shape, high=rows)])
    for shape, classes in [((5,), 4), ((2, 3), 3), ((), 2), ((0,), 3)]:
        group.case("one_hot", lambda index, classes: F.one_hot(index, classes).double(), [integers(*shape, high=classes)],
                   classes=classes)
    for given, dim, start, length in [((5, 3), 0, 1, 3), ((5, 3), 1, -2, 2), ((4,), 0, 4, 0)]:
        group.case("narrow", lambda x, dim, start, length: torch.narrow(x, dim, start, length), [normal(*given)], dim=dim,
                   start=start, length=length)
    for given, size, dim in [((5, 3), 2, 0), ((5, 3), 3, 1), ((2, 7, 2), 4, -2)]:
        group.case("split", lambda x, size, dim: torch.split(x, size, dim), [normal(*given)], size=size, dim=dim)
    group.case("split_with_sizes", lambda x, sizes, dim: torch.split(x, list(sizes), dim), [normal(2, 6)], sizes=(1, 0, 5), dim=1)
    for count in [2, 3, 4, 9]:
        group.case("chunk", lambda x, count, dim: torch.chunk(x, count, dim), [normal(5, 3)], count=count, dim=0)
    for given, axes in [((5, 3), (0,)), ((2, 3, 4), (0, 2)), ((4,), (-1,))]:
        group.case("flip", lambda x, axes: torch.flip(x, axes), [normal(*given)], axes=axes)
    for given, amounts in [((2, 3), (1, 2)), ((2, 3), (0, 0, 1, 0)), ((3, 4), (-1, 2, 1, -1)), ((2, 3, 4), (1, 1, 2, 0, 0, 1))]:
        group.case("pad", lambda x, amounts, value: F.pad(x, amounts, value=value), [normal(*given)], amounts=amounts, value=0.75)
    for given in [(4, 4), (2, 5), (3, 4, 2)]:
        for diagonal in [-2, 0, 1]:
            group.case("tril", lambda x, diagonal: torch.tril(x, diagonal), [normal(*given)], diagonal=diagonal)
            group.case("triu", lambda x, diagonal: torch.triu(x, diagonal), [normal(*given)], diagonal=diagonal)
    for given, index, dim in [((5, 3), (4, 3), 0), ((5, 3), (2, 6), 1), ((2, 3, 4), (1, 5, 2), 1), ((4,), (0,), 0)]:
        group.case("gather", lambda x, index, dim: torch.gather(x, dim, index), [normal(*given), integers(*index, high=given[dim])],
                   dim=dim)
        group.case("scatter_add", lambda x, index, source, dim: torch.scatter_add(x, dim, index, source),
                   [normal(*given), integers(*index, high=given[dim]), normal(*index)], dim=dim)
    for mask in [(3, 4), (4,), (3, 1)]:
        group.case("masked_fill", lambda x, mask, value: torch.masked_fill(x, mask, value), [normal(3, 4), booleans(*mask)], value=-1.5)
    for given, dim in [((5, 3), 0), ((5, 3), -1), ((2, 7, 2), 1), ((0, 2), 0)]:
        for descending in [False, True]:
            group.case("sort", lambda x, dim, descending: torch.sort(x, dim, descending), [distinct(*given)], dim=dim,
                       descending=descending)
    for k in [0, 1, 3]:
        for largest in [False, True]:
            group.case("topk", lambda x, k, dim, largest: torch.topk(x, k, dim, largest), [distinct(4, 5)], k=k, dim=1, largest=largest)
    group.case("argsort", lambda x, dim: torch.argsort(x, stable=True, dim=dim), [integers(4, 9, high=3)], dim=1)
