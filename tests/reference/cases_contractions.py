"""Products beside matmul: batches, sums with a matrix, vectors, equations."""

import torch

from recipe import normal

EQUATIONS = [
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("i,i->", [(5,), (5,)]),
    ("i,j->ij", [(2,), (3,)]),
    ("ij,ij->ij", [(2, 3), (2, 3)]),
    ("ij,ij->i", [(2, 3), (2, 3)]),
    ("ij,jk", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]),
    ("bij,bjk->bik", [(4, 2, 3), (4, 3, 5)]),
    ("bij,bkj->bki", [(4, 2, 3), (4, 5, 3)]),
    ("bqhd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 4, 5)]),
    ("bhqk,bkhd->bqhd", [(2, 4, 3, 6), (2, 6, 4, 5)]),
    ("ijk,jil->kl", [(3, 4, 2), (4, 3, 5)]),
    ("ij,k->j", [(2, 3), (4,)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("...i,...j", [(2, 3), (2, 4)]),
    ("i...->...", [(2, 3, 4)]),
    ("bn,anm,bm->ba", [(2, 3), (5, 3, 4), (2, 4)]),
    ("i,i->i", [(1,), (3,)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("ij,jk,kl,lm->im", [(2, 3), (3, 4), (4, 2), (2, 3)]),
]


def add(group):
    for a, b in [((3, 2, 4), (3, 4, 5)), ((1, 1, 1), (1, 1, 1)), ((2, 17, 33), (2, 33, 9)), ((0, 2, 3), (0, 3, 4))]:
        group.case("bmm", torch.bmm, [normal(*a), normal(*b)])
    for x, beta, alpha in [((4,), 1.0, 1.0), ((2, 4), 0.5, -2.0), ((2, 1), 1.0, 0.25), ((1,), -1.5, 1.0)]:
        group.case("addmm", lambda x, a, b, beta, alpha: torch.addmm(x, a, b, beta=beta, alpha=alpha),
                   [normal(*x), normal(2, 3), normal(3, 4)], beta=beta, alpha=alpha)
    for m, n in [(3, 4), (1, 1), (0, 2)]:
        group.case("outer", torch.outer, [normal(m), normal(n)])
        group.case("mv", torch.mv, [normal(m, n), normal(n)])
    for n in [5, 1, 0]:
        group.case("dot", torch.dot, [normal(n), normal(n)])
    for equation, shapes in EQUATIONS:
        group.case("einsum", lambda *x, equation: torch.einsum(equation, *x), [normal(*shape) for shape in shapes],
                   equation=equation)
