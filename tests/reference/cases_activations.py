"""Activations, and the layers among them that have parameters."""

import torch.nn.functional as F
from torch import nn

from recipe import normal, uniform


def add(group):
    x = uniform(2, 5, low=-6, high=6)
    for op in ["selu", "mish", "softsign", "tanhshrink", "hardswish"]:
        group.case(op, getattr(F, op), [x])
    group.case("mish", F.mish, [uniform(4, low=-40, high=40)])
    group.case("hardsigmoid", F.hardsigmoid, [x], grad=False)  # torch's has a sixth as an f32
    for alpha in [1.0, 0.75]:
        group.case("celu", lambda x, alpha: F.celu(x, alpha), [x], alpha=alpha)
    group.case("softshrink", lambda x, number: F.softshrink(x, number), [x], number=1.5)
    group.case("hardshrink", lambda x, number: F.hardshrink(x, number), [x], number=1.5)
    group.case("threshold", lambda x, limit, value: F.threshold(x, limit, value), [x], limit=-1.0, value=7.0)
    group.case("prelu", F.prelu, [normal(2, 3, 2), normal(3)])
    group.case("prelu", F.prelu, [normal(4), normal(1)])
    for dim in [0, -1]:
        group.case("glu", lambda x, dim: F.glu(x, dim), [normal(4, 2)], dim=dim)
        group.case("softmin", lambda x, dim: F.softmin(x, dim), [normal(3, 2)], dim=dim)
    group.module("Prelu", lambda: nn.PReLU(3), [normal(2, 3)], channels=3)
