"""Diagonals, repetitions, grids, indices, order, counts. Small, since each array costs more than its numbers."""

import torch

from recipe import booleans, distinct, integers, normal, values


def add(group):
    for given, offset, a, b in [((3, 4), 1, 0, 1), ((2, 3, 2), -1, -1, 1)]:
        group.case("diagonal", lambda x, offset, a, b: torch.diagonal(x, offset, a, b), [normal(*given)], offset=offset, a=a, b=b)
    group.case("diag_embed", lambda x, offset, a, b: torch.diag_embed(x, offset, a, b), [normal(2, 2)], offset=-1, a=2, b=0)
    for given in [(3,), (2, 3)]:
        group.case("diag", torch.diag, [normal(*given)])
    group.case("trace", torch.trace, [normal(2, 3)])
    group.case("unbind", lambda x, dim: torch.unbind(x, dim), [normal(2, 3)], dim=1)
    group.case("movedim", lambda x, source, places: torch.movedim(x, source, places), [normal(1, 2, 3)], source=(0, 2), places=(1, 0))
    group.case("unflatten", lambda x, dim, sizes: torch.unflatten(x, dim, sizes), [normal(2, 6)], dim=1, sizes=(3, -1))
    group.case("tile", lambda x, counts: torch.tile(x, counts), [normal(1, 2)], counts=(2,))
    group.case("repeat_interleave", lambda x, count, dim: torch.repeat_interleave(x, count, dim), [normal(2, 2)], count=2, dim=1)
    group.case("repeat_interleave_counts", lambda x, counts, dim: torch.repeat_interleave(x, counts, dim),
               [normal(3, 2), integers(3, high=3)], dim=0)
    group.case("vstack", lambda *x: torch.vstack(x), [normal(2), normal(2, 2)])
    group.case("hstack", lambda *x: torch.hstack(x), [normal(2, 1), normal(2, 2)])
    for order in ["ij", "xy"]:
        group.case("meshgrid", lambda *x, order: torch.meshgrid(*x, indexing=order), [normal(2), normal(3)], order=order)
    group.case("diff", lambda x, n, dim: torch.diff(x, n, dim), [normal(4, 2)], n=2, dim=0)
    group.case("baddbmm", lambda x, a, b, beta, alpha: torch.baddbmm(x, a, b, beta=beta, alpha=alpha),
               [normal(1, 2), normal(2, 1, 3), normal(2, 3, 2)], beta=0.5, alpha=-2.0)
    add_indices(group)
    add_order(group)
    add_products(group)


def add_indices(group):
    # No index occurs twice: torch does not specify which element remains.
    index = values(2, 0, 1, 0, 1, 2, dtype="int64")
    group.case("scatter", lambda x, index, source, dim: torch.scatter(x, dim, index.reshape(2, 3), source),
               [normal(2, 3), index, normal(2, 3)], dim=1)
    group.case("scatter_value", lambda x, index, dim, value: torch.scatter(x, dim, index.reshape(2, 3)[:, :2], value),
               [normal(2, 3), index], dim=1, value=0.5)
    group.case("take_along_dim", lambda x, index, dim: torch.take_along_dim(x, index, dim), [normal(2, 3), integers(1, 2, high=3)], dim=1)
    group.case("index_fill", lambda x, index, dim, value: torch.index_fill(x, dim, index, value), [normal(2, 3), integers(2, high=3)],
               dim=1, value=-1.5)
    group.case("index_copy", lambda x, index, source, dim: torch.index_copy(x, dim, index, source),
               [normal(3, 2), values(2, 0, dtype="int64"), normal(2, 2)], dim=0)
    group.case("masked_scatter", lambda x, mask, source: torch.masked_scatter(x, mask, source), [normal(2, 3), booleans(2, 3), normal(6)])
    group.case("unique", lambda x: torch.unique(x, return_inverse=True, return_counts=True), [integers(2, 4, low=-1, high=3)])
    group.case("bincount", lambda x, length: torch.bincount(x, minlength=length), [integers(6, high=4)], length=6)
    group.case("bincount_weights", lambda x, weights: torch.bincount(x, weights), [integers(6, high=4), normal(6)], grad=False)
    group.case("histc", lambda x, bins, low, high: torch.histc(x, bins, low, high), [normal(9)], grad=False, bins=4, low=-1.5, high=1.0)
    for right in [False, True]:
        group.case("searchsorted", lambda x, y, right: torch.searchsorted(x, y, right=right),
                   [values(-1, 0, 0, 2, dtype="int64"), integers(2, 3, low=-2, high=4)], right=right)


def add_order(group):
    for dim in [0, 1]:
        group.case("cumprod", torch.cumprod, [values([2, 0, 3], [-1, 4, 0], [0, 2, 0.5])], dim=dim)
    group.case("cummax", torch.cummax, [integers(2, 4, high=3)], dim=1)
    group.case("cummin", torch.cummin, [distinct(2, 4)], dim=1)
    group.case("median", torch.median, [distinct(2, 4)], dim=1)
    group.case("median_of_all", torch.median, [values(1, 2, 2, 3)])
    group.case("quantile", lambda x, q, dim: torch.quantile(x, torch.tensor(q, dtype=x.dtype), dim), [distinct(2, 5)], q=(0.0, 0.3, 0.9), dim=1)
    group.case("count_nonzero", lambda x, dim: torch.count_nonzero(x, dim), [integers(2, 4, high=2)], dim=1)


def add_products(group):
    group.case("tensordot", lambda a, b, left, right: torch.tensordot(a, b, (left, right)), [normal(2, 2, 3), normal(3, 2)], left=(2, 0),
               right=(0, 1))
    group.case("kron", torch.kron, [normal(2, 1), normal(1, 3)])
    group.case("cross", lambda a, b, dim: torch.linalg.cross(a, b, dim=dim), [normal(3, 2), normal(3, 1)], dim=0)
    for p in [1.0, 2.0]:
        # The first row equals one of the others: a distance of 0.
        group.case("cdist", lambda x, y, p: torch.cdist(x, torch.cat([x[:1], y]), p), [normal(2, 2), normal(1, 2)], p=p)
