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


def cycle(make):
    """The rates of a schedule that sets the momentum too, and these momenta."""

    def of_options(base, **options):
        rule = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=float(base), momentum=0.9)
        scheduler = make(rule, **options)
        rates, momenta = [], []
        for _ in range(STEPS):
            rates.append(rule.param_groups[0]["lr"])
            momenta.append(rule.param_groups[0]["momentum"])
            rule.step()
            scheduler.step()
        return [torch.tensor(rates, dtype=torch.float64), torch.tensor(momenta, dtype=torch.float64)]

    return of_options


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
    for factor, total in [(1.0 / 3.0, 5), (0.1, 12)]:
        case("ConstantLR", lambda rule: lr.ConstantLR(rule, factor, total), factor=factor, total_iters=total)
    for total, power in [(5, 1.0), (20, 2.0), (30, 0.5)]:
        case("PolynomialLR", lambda rule: lr.PolynomialLR(rule, total, power), total_iters=total, power=power)
    for t_0, t_mult, eta_min in [(4, 1, 0.0), (2, 2, 0.01), (3, 3, 0.0)]:
        case("CosineAnnealingWarmRestarts", lambda rule: lr.CosineAnnealingWarmRestarts(rule, t_0, t_mult, eta_min), t_0=t_0,
             t_mult=t_mult, eta_min=eta_min)
    for options in [
        {"max_lr": 0.5, "total_steps": 26},
        {"max_lr": 0.5, "total_steps": 30, "pct_start": 0.25, "anneal_strategy": "linear", "div_factor": 10.0, "final_div_factor": 100.0},
        {"max_lr": 1.0, "total_steps": 28, "pct_start": 0.4, "three_phase": True, "base_momentum": 0.5, "max_momentum": 0.75},
    ]:
        group.case("OneCycleLR", cycle(lr.OneCycleLR), base, grad=False, **options)
    for options in [
        {"base_lr": 0.01, "max_lr": 0.5, "step_size_up": 4},
        {"base_lr": 0.01, "max_lr": 0.5, "step_size_up": 3, "step_size_down": 5, "mode": "triangular2", "base_momentum": 0.5},
        {"base_lr": 0.1, "max_lr": 0.2, "step_size_up": 6, "step_size_down": 2, "mode": "exp_range", "gamma": 0.9},
    ]:
        group.case("CyclicLR", cycle(lr.CyclicLR), base, grad=False, **options)
    for options in [
        {"factor": 0.5, "patience": 1},
        {"factor": 0.3, "patience": 0, "threshold": 0.2, "cooldown": 2},
        {"mode": "max", "factor": 0.5, "patience": 2, "threshold": 0.1, "threshold_mode": "abs"},
        {"mode": "max", "factor": 0.5, "patience": 0, "threshold": 0.1, "min_lr": 0.05},
        {"factor": 0.5, "patience": 0, "eps": 0.05},
    ]:
        group.case("ReduceLROnPlateau", plateau, base + [normal(STEPS)], grad=False, **options)
