"""Products: matrix by matrix, by vector, and batches of them."""

import torch
import torch.nn.functional as F

from recipe import integers, normal

SHAPES = [
    ((2, 3), (3, 4)),
    ((1, 1), (1, 1)),
    ((17, 33), (33, 9)),
    ((33, 40), (40, 35)),
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((2, 1, 2, 3), (4, 3, 5)),
    ((2, 3, 4), (4,)),
    ((3,), (2, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((2, 3), (3, 0)),
    ((0, 2, 3), (0, 3, 4)),
]


def add(group):
    for a, b in SHAPES:
        group.case("matmul", torch.matmul, [normal(*a), normal(*b)])
    group.case("matmul", lambda a, b: torch.matmul(a.double(), b),
               [integers(3, 4, low=-9, high=9), normal(4, 2)], grad=(1,))
    for x in [(5, 4), (4,), (2, 3, 4), (0, 4)]:
        group.case("linear", F.linear, [normal(*x), normal(3, 4), normal(3)])
        group.case("linear", F.linear, [normal(*x), normal(3, 4)])
    group.case("linear", F.linear, [normal(20, 40), normal(45, 40), normal(45)])
