"""Margin losses, losses of predicted distributions, and CTC loss."""

import torch.nn.functional as F

from recipe import integers, normal, uniform, values


def ctc_loss(x, targets, steps, lengths, **options):
    """Behind log_softmax: torch's gradient is that of both."""
    return F.ctc_loss(F.log_softmax(x, -1), targets, steps, lengths, **options)


def add(group):
    for reduction, blank in [("none", 0), ("mean", 2)]:
        group.case("ctc_loss", ctc_loss, [normal(5, 2, 4), values(1, 3, 3, dtype=int), values(5, 4, dtype=int),
                                          values(2, 1, dtype=int)], reduction=reduction, blank=blank)
    target = values(1, -1, -1, 1)
    for reduction in ["none", "sum", "mean"]:
        group.case("margin_ranking_loss", F.margin_ranking_loss, [normal(4), normal(4), target], grad=[0, 1], margin=0.2,
                   reduction=reduction)
        group.case("hinge_embedding_loss", F.hinge_embedding_loss, [normal(4), target], grad=[0], margin=1.5,
                   reduction=reduction)
        group.case("cosine_embedding_loss", F.cosine_embedding_loss, [normal(4, 2), normal(4, 2), target], grad=[0, 1],
                   margin=0.1, reduction=reduction)
        group.case("soft_margin_loss", F.soft_margin_loss, [normal(4), target], grad=[0], reduction=reduction)
    for p, swap in [(2.0, False), (3.0, True)]:
        group.case("triplet_margin_loss", F.triplet_margin_loss, [normal(3, 2), normal(3, 2), normal(3, 2)], margin=2.0, p=p,
                   swap=swap, reduction="none")
    for p, weight in [(1, []), (2, [uniform(4, low=0.5, high=2.0)])]:
        group.case("multi_margin_loss", lambda x, y, weight=None, **options: F.multi_margin_loss(x, y, weight=weight, **options),
                   [normal(3, 4), integers(3, high=4)] + weight, grad=[0], p=p, margin=0.7, reduction="mean")
    for log_input, full in [(True, False), (False, True)]:
        group.case("poisson_nll_loss", F.poisson_nll_loss, [uniform(4, low=0.2, high=2.0), values(0, 1, 2, 5)], grad=[0],
                   log_input=log_input, full=full, reduction="mean")
    for var, full in [((3, 2), True), ((3, 1), False), ((3,), False)]:
        group.case("gaussian_nll_loss", F.gaussian_nll_loss, [normal(3, 2), normal(3, 2), uniform(*var, low=0.5, high=2.0)],
                   full=full, reduction="none")
