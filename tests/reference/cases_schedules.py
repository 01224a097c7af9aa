"""Learning rates: those of STEPS steps of a schedule, from a base rate."""

import torch
from torch.optim import lr_scheduler as lr

from recipe import normal, uniform

STEPS = 25


def rates(make):
    """The function from a base rate to the rates that torch's scheduler sets for steps 0, 1, ..."""

    def of_base(base, **_):
        rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=float(base))
        scheduler = make(rule)
        found = []
        for _ in range(STEPS):
            found.append(rule.param_groups[0]["lr"])
            rule.step()
            scheduler.step()
        return torch.tensor(found, dtype=torch.float64)

    return of_base


def plateau(base, metrics, **options):
    """The rates after each value of a metric."""
    rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=float(base))
    scheduler = lr.ReduceLROnPlateau(rule, **options)
    found = []
    for metric in metrics:
        scheduler.step(metric)
        found.append(rule.param_groups[0]["lr"])
    return torch.tensor(found, dtype=torch.float64)


def add(group):
    base = [uniform(low=0.1, high=1.0)]

    def case(name, make, **options):
        group.case(name, rates(make), base, grad=False, **options)

    for step_size, gamma in [(1, 0.5), (3, 0.1), (7, 0.9)]:
        case("StepLR", lambda rule: lr.StepLR(rule, step_size, gamma), step_size=step_size, gamma=gamma)
    for milestones, gamma in [([2, 9, 17], 0.3), ([5, 5, 8], 0.5)]:
        case("MultiStepLR", lambda rule: lr.MultiStepLR(rule, milestones, gamma), milestones=milestones, gamma=gamma)
    case("ExponentialLR", lambda rule: lr.ExponentialLR(rule, 0.87), gamma=0.87)
    for t_max, eta_min in [(10, 0.0), (7, 0.03), (40, 0.01)]:
        case("CosineAnnealingLR", lambda rule: lr.CosineAnnealingLR(rule, t_max, eta_min), t_max=t_max, eta_min=eta_min)
    for start, end, total in [(1.0 / 3.0, 1.0, 5), (0.01, 1.0, 12), (1.0, 0.2, 30)]:
        case("LinearLR", lambda rule: lr.LinearLR(rule, start, end, total), start_factor=start, end_factor=end, total_iters=total)
    # A warm-up of 4 steps beside, or before, an exponential and a cosine.
    case("ChainedLR", lambda rule: lr.ChainedScheduler([lr.LinearLR(rule, 0.1, 1.0, 4), lr.ExponentialLR(rule, 0.9),
                                                        lr.CosineAnnealingLR(rule, 30)]))
    case("SequentialLR", lambda rule: lr.SequentialLR(rule, [lr.LinearLR(rule, 0.1, 1.0, 4), lr.ExponentialLR(rule, 0.9),
                                                             lr.CosineAnnealingLR(rule, 10)], [4, 11]))
    for options in [
        {"factor": 0.5, "patience": 1},
        {"factor": 0.3, "patience": 0, "threshold": 0.2, "cooldown": 2},
        {"mode": "max", "factor": 0.5, "patience": 2, "threshold": 0.1, "threshold_mode": "abs"},
        {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.1, "min_lr": 0.05},
        {"factor": 0.5, "patience": 0, "eps": 0.05},
    ]:
        group.case("ReduceLROnPlateau", plateau, base + [normal(STEPS)], grad=False, **options)
