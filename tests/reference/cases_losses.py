"""Losses."""

import torch.nn.functional as F

from recipe import integers, normal, uniform

REDUCTIONS = ["none", "sum", "mean"]


def weighted(loss):
    """With the weights as further inputs, which take no gradient."""
    def function(x, y, weight=None, pos_weight=None, **options):
        given = {} if pos_weight is None else {"pos_weight": pos_weight}
        return loss(x, y, weight=weight, **given, **options)
    return function


def add(group):
    shapes = [((4, 3), (4,)), ((3,), ()), ((2, 3, 4), (2, 4)), ((2, 5, 2, 3), (2, 2, 3)), ((2, 70), (2,))]
    for reduction in REDUCTIONS:
        for scores, target in shapes if reduction == "mean" else shapes[::2]:
            classes = scores[0] if len(scores) == 1 else scores[1]
            given = [normal(*scores), integers(*target, high=classes)]
            weight = [uniform(classes, low=0.5, high=2.0)]
            group.case("weighted_nll_loss", weighted(F.nll_loss), given + weight, grad=[0], reduction=reduction)
            group.case("weighted_cross_entropy", weighted(F.cross_entropy), given + weight, grad=[0],
                       reduction=reduction, label_smoothing=0.0)
            group.case("weighted_cross_entropy", weighted(F.cross_entropy), given, grad=[0], reduction=reduction,
                       label_smoothing=0.2)
            if reduction == "mean" and not target:
                continue  # one ignored example has no mean
            group.case("weighted_nll_loss", weighted(F.nll_loss), given + weight, grad=[0], reduction=reduction,
                       ignore_index=1)
            group.case("weighted_cross_entropy", weighted(F.cross_entropy), given + weight, grad=[0],
                       reduction=reduction, label_smoothing=0.1, ignore_index=0)
        for scores in [(4, 3), (2, 3, 4)] if reduction == "mean" else [(4, 3)]:
            group.case("soft_cross_entropy", weighted(F.cross_entropy),
                       [normal(*scores), uniform(*scores), uniform(3, low=0.5, high=2.0)], grad=[0],
                       reduction=reduction, label_smoothing=0.3)

        for shape in [(3, 4), (1,), (70,)] if reduction == "mean" else [(2, 3, 2)]:
            pair = [normal(*shape), normal(*shape)]
            probabilities = [uniform(*shape, low=0.05, high=0.95), uniform(*shape, low=0.05, high=0.95)]
            group.case("l1_loss", F.l1_loss, pair, reduction=reduction)
            group.case("smooth_l1_loss", F.smooth_l1_loss, pair, reduction=reduction, beta=0.7)
            group.case("huber_loss", F.huber_loss, pair, reduction=reduction, delta=0.7)
            group.case("bce_loss", weighted(F.binary_cross_entropy), probabilities, grad=[0], reduction=reduction)
            group.case("bce_with_logits", weighted(F.binary_cross_entropy_with_logits), [normal(*shape), uniform(*shape)],
                       grad=[0], reduction=reduction)
            group.case("kl_div", F.kl_div, [normal(*shape), uniform(*shape, low=0.05)], grad=[0], reduction=reduction,
                       log_target=False)
            group.case("kl_div", F.kl_div, [normal(*shape), normal(*shape)], reduction=reduction, log_target=True)
        weight = [uniform(4, low=0.5, high=2.0)]
        group.case("bce_loss", weighted(F.binary_cross_entropy),
                   [uniform(3, 4, low=0.05, high=0.95), uniform(3, 4)] + weight, grad=[0], reduction=reduction)
        group.case("bce_with_logits", weighted(F.binary_cross_entropy_with_logits),
                   [normal(3, 4), uniform(3, 4)] + weight, grad=[0], reduction=reduction)
        group.case("bce_with_logits", weighted(F.binary_cross_entropy_with_logits),
                   [normal(3, 4), uniform(3, 4)] + weight + [uniform(3, 4, low=0.5, high=5.0)], grad=[0],
                   reduction=reduction)
    group.case("kl_div", F.kl_div, [normal(3, 4), uniform(3, 4, low=0.05)], grad=[0], reduction="batchmean",
               log_target=False)
    group.case("smooth_l1_loss", F.smooth_l1_loss, [normal(3, 4), normal(3, 4)], reduction="mean", beta=0.0)
