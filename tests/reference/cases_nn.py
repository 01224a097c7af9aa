"""Operations of neural networks, and losses."""

import torch
import torch.nn.functional as F

from recipe import distinct, integers, normal, uniform


def add(group):
    for op, function in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
        for given, dim in [((3, 5), 1), ((3, 5), 0), ((2, 3, 4), 1), ((7,), -1), ((2, 1), 1), ((0, 4), 1), ((2, 300), 1)]:
            group.case(op, lambda x, dim, f=function: f(x, dim), [normal(*given)], dim=dim)
        # For values far apart, every gradient is the difference of almost equal numbers, in torch as well: no gradients.
        group.case(op, lambda x, dim, f=function: f(x, dim), [uniform(4, 6, low=-500.0, high=500.0)], grad=False, dim=1)
        group.case(op, lambda x, dim, f=function: f(x, dim), [uniform(4, 6, low=898.0, high=902.0)], dim=1)

    # x, weight, stride, padding, dilation
    convolutions = [
        ((2, 3, 5, 5), (4, 3, 3, 3), (1, 1), (0, 0), (1, 1)),
        ((2, 3, 5, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1)),
        ((1, 1, 5, 7), (1, 1, 1, 1), (1, 1), (0, 0), (1, 1)),
        ((1, 2, 9, 6), (3, 2, 3, 2), (2, 1), (1, 0), (1, 1)),
        ((2, 2, 9, 9), (2, 2, 3, 3), (1, 2), (2, 2), (2, 2)),
        ((3, 1, 5, 5), (2, 1, 5, 5), (1, 1), (0, 0), (1, 1)),
        ((1, 4, 7, 3), (5, 4, 2, 3), (3, 3), (1, 1), (1, 1)),
    ]
    for x, weight, stride, padding, dilation in convolutions:
        for bias in [[], [normal(weight[0])]]:
            group.case("conv2d", lambda x, w, b=None, **options: F.conv2d(x, w, b, **options),
                       [normal(*x), normal(*weight)] + bias, stride=stride, padding=padding, dilation=dilation)

    for x, kernel, stride, padding in [((2, 3, 6, 6), (2, 2), (2, 2), (0, 0)), ((1, 2, 7, 9), (3, 2), (2, 1), (1, 1)),
                                       ((1, 1, 5, 5), (3, 3), (1, 1), (1, 1)), ((2, 1, 4, 6), (4, 6), (4, 6), (0, 0)),
                                       ((1, 3, 5, 5), (2, 2), (3, 3), (0, 0))]:
        group.case("max_pool2d", lambda x, kernel, stride, padding: F.max_pool2d(x, kernel, stride, padding),
                   [distinct(*x)], kernel=kernel, stride=stride, padding=padding)

    group.case("dropout", lambda x, probability: F.dropout(x, probability), [normal(3, 4)], probability=0.0)

    for reduction in ["none", "sum", "mean"]:
        for n, classes in [(5, 4), (1, 1), (3, 10)]:
            given = [normal(n, classes), integers(n, high=classes)]
            group.case("nll_loss", F.nll_loss, given, reduction=reduction)
            group.case("cross_entropy", F.cross_entropy, given, reduction=reduction)
        for shape in [(3, 4), (1,), (2, 0)]:
            group.case("mse_loss", F.mse_loss, [normal(*shape), normal(*shape)], reduction=reduction)
    group.case("cross_entropy", F.cross_entropy, [uniform(4, 6, low=-300.0, high=300.0), integers(4, high=6)],
               reduction="mean")
