"""Rows of a table, alone and in bags."""

import torch
import torch.nn.functional as F

from recipe import integers, normal, values

NUMBERS = {"dtype": "int64"}


def padded_embedding(weight, index, padding_idx, sparse):
    return F.embedding(index, weight, padding_idx=padding_idx)


def embedding_bag(weight, index, offsets=None, samples=None, sparse=False, **options):
    """Whether Troupe's gradient is rows does not change its values."""
    return F.embedding_bag(index, weight, offsets, per_sample_weights=samples, **options)


def add(group):
    for sparse in [False, True]:
        for shape, padding in [((4,), 1), ((2, 3), -1), ((5,), 0)]:
            group.case("padded_embedding", padded_embedding, [normal(5, 3), integers(*shape, high=5)],
                       padding_idx=padding, sparse=sparse)
        for mode in ["sum", "mean", "max"]:
            options = {"mode": mode, "sparse": sparse}
            offsets = values(0, 2, 2, 5, **NUMBERS)
            group.case("embedding_bag", embedding_bag, [normal(6, 3), integers(7, high=6), offsets], **options)
            group.case("embedding_bag", embedding_bag, [normal(6, 3), integers(3, 4, high=6)], **options)
            if sparse:
                continue
            group.case("embedding_bag", embedding_bag, [normal(6, 70), integers(7, high=6), values(0, 2, 2, 5, 7, **NUMBERS)],
                       include_last_offset=True, **options)
            group.case("embedding_bag", embedding_bag, [normal(4, 2), integers(9, high=4), values(0, 3, 6, **NUMBERS)],
                       padding_idx=2, **options)
        group.case("embedding_bag", embedding_bag,
                   [normal(6, 3), integers(7, high=6), values(0, 2, 2, 5, **NUMBERS), normal(7)], mode="sum", sparse=sparse)
    group.case("counted_one_hot", lambda x: F.one_hot(x).to(torch.float32), [integers(2, 3, high=4)])
