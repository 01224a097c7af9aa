"""Diagonals, repetitions, grids: shapes beyond those of everyday. Small, since each array costs more than its numbers."""

import torch

from recipe import integers, normal


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
