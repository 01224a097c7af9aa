"""Normalising layers with their running statistics, embeddings, and networks made of many kinds of layers."""

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from recipe import integers, normal, values


def batch_norm(make, channels, **options):
    """With running statistics as they are after some training."""
    layer = make(channels, **options)
    if layer.running_mean is not None:
        layer.running_mean.copy_(torch.linspace(-1, 1, channels))
        layer.running_var.copy_(torch.linspace(0.5, 2, channels))
        layer.num_batches_tracked.fill_(7)
    return layer


def add(group):
    for op, make, shapes in [("BatchNorm1d", nn.BatchNorm1d, [(5, 3), (2, 3, 4)]),
                             ("BatchNorm2d", nn.BatchNorm2d, [(2, 3, 4, 5), (4, 1, 2, 2)])]:
        for shape in shapes:
            for train in [True, False]:
                for affine, track in [(True, True), (False, True) if train else (True, False)]:
                    options = dict(eps=1e-3, momentum=0.2)
                    group.module(op, lambda: batch_norm(make, shape[1], affine=affine, track_running_stats=track,
                                                        **options),
                                 [normal(*shape)], train=train, channels=shape[1], affine=affine, track=track, **options)
    for shape, sizes in [((4, 6), (6,)), ((2, 3, 4), (3, 4)), ((5, 3), (3,))]:
        for affine in [True, False]:
            group.module("LayerNorm", lambda: nn.LayerNorm(sizes, eps=1e-3, elementwise_affine=affine), [normal(*shape)],
                         sizes=sizes, affine=affine, eps=1e-3)
    for shape, groups in [((2, 6), 3), ((2, 4, 3, 2), 2), ((1, 4, 3), 4), ((2, 4, 2, 2), 1)]:
        for affine in [True, False]:
            group.module("GroupNorm", lambda: nn.GroupNorm(groups, shape[1], eps=1e-3, affine=affine), [normal(*shape)],
                         groups=groups, channels=shape[1], affine=affine, eps=1e-3)
    for op, make, shape in [("InstanceNorm1d", nn.InstanceNorm1d, (2, 3, 4)), ("InstanceNorm2d", nn.InstanceNorm2d, (2, 2, 2, 3))]:
        for affine in [True, False]:
            group.module(op, lambda: make(shape[1], eps=1e-3, affine=affine), [normal(*shape)], channels=shape[1],
                         affine=affine, eps=1e-3)
    for mode, shape, amounts in [("reflect", (2, 5), (2, 4)), ("reflect", (1, 1, 3, 4), (1, 2, 2, 1)), ("replicate", (2, 3), (1, 3)),
                                 ("replicate", (1, 1, 2, 3), (2, 0, 1, 3)), ("circular", (1, 2, 4), (4, 1)),
                                 ("circular", (1, 1, 2, 3), (3, 1, 0, 2))]:
        group.case("pad_mode", lambda x, mode, amounts: F.pad(x, amounts, mode), [normal(*shape)], mode=mode, amounts=amounts)
    for train in [True, False]:
        group.module("NormNet", norm_net, [normal(2, 1, 5, 6)], train=train)
    add_embeddings(group)


def add_embeddings(group):
    for shape, padding in [((6,), 1), ((2, 3), -1), ((4,), 0)]:
        group.module("PaddedEmbedding", lambda: nn.Embedding(5, 3, padding), [integers(*shape, high=5)], rows=5, width=3,
                     padding=padding)
    offsets = values(0, 2, 2, 5, dtype=numpy.int64)  # the third begins where the second does, which is empty
    closed = values(0, 2, 5, 7, dtype=numpy.int64)
    index = integers(7, high=5)
    for mode in ["sum", "mean", "max"]:
        for inputs, padding, last in [([index, offsets], None, False), ([index, closed], None, True),
                                      ([index, offsets], 2, False), ([integers(4, 3, high=5)], None, False),
                                      ([integers(4, 3, high=5)], -2, False)]:
            group.module("EmbeddingBag", lambda: EmbeddingBag(5, 3, mode=mode, padding_idx=padding, include_last_offset=last),
                         inputs, rows=5, width=3, mode=mode, padding=padding, last=last)
    for inputs in [[index, offsets, normal(7)], [integers(4, 3, high=5), normal(4, 3)]]:
        group.module("EmbeddingBag", lambda: EmbeddingBag(5, 3, mode="sum"), inputs, rows=5, width=3, mode="sum",
                     padding=None, last=False)


class EmbeddingBag(nn.EmbeddingBag):
    """Bags in rows have weights as their second input."""

    def forward(self, index, *others):
        if index.dim() == 2:
            return super().forward(index, None, *others)
        return super().forward(index, *others)


def norm_net():
    """Also the contents of checkpoint.safetensors. A bias before batch norm would have only rounding errors as gradient."""
    return nn.Sequential(nn.Conv2d(1, 4, 3, bias=False), batch_norm(nn.BatchNorm2d, 4), nn.ReLU(), nn.Conv2d(4, 4, 2),
                         nn.GroupNorm(2, 4), nn.Tanh(), nn.Flatten(), nn.Linear(24, 3), nn.LayerNorm(3))
