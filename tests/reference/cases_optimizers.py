"""Update rules: the values of two parameters after each of 20 steps."""

import math

import torch

from recipe import normal


def add(group):
    for name, rule, all_options in [
        ("Sgd", torch.optim.SGD, SGD),
        ("Adam", torch.optim.Adam, ADAM),
        ("AdamW", torch.optim.AdamW, ADAMW),
        ("Adagrad", torch.optim.Adagrad, ADAGRAD),
        ("Adadelta", torch.optim.Adadelta, ADADELTA),
        ("RMSprop", torch.optim.RMSprop, RMSPROP),
        ("Adamax", torch.optim.Adamax, ADAMAX),
        ("Rprop", torch.optim.Rprop, RPROP),
        ("NAdam", nadam, NADAM),
        ("RAdam", torch.optim.RAdam, RADAM),
        ("Asgd", torch.optim.ASGD, ASGD),
        ("SparseAdam", SparseAdamOfAllRows, SPARSE_ADAM),
    ]:
        for options in all_options:
            group.optimizer(name, rule, **options)
    for max_norm, norm_type in [(1.0, 2.0), (100.0, 2.0), (0.5, 1.0), (2.0, 3.0), (0.3, math.inf)]:
        group.case("clip_grad_norm", clip_norm, [normal(3, 4), normal(5)], grad=False, max_norm=max_norm, norm_type=norm_type)
    group.case("clip_grad_value", clip_value, [normal(3, 4), normal(5)], grad=False, clip_value=0.5)


class SparseAdamOfAllRows(torch.optim.SparseAdam):
    """Takes the dense gradients of these cases as those of all rows."""

    def step(self):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = parameter.grad.to_sparse(1)
        super().step()


def nadam(parameters, **options):
    """Without foreach, torch 1.13 counts a factor twice, which later versions corrected."""
    return torch.optim.NAdam(parameters, foreach=True, **options)


def with_gradients(gradients):
    parameters = [torch.zeros_like(gradient) for gradient in gradients]
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient.clone()
    return parameters


def clip_norm(*gradients, max_norm, norm_type):
    """The norm, and the gradients after clipping."""
    parameters = with_gradients(gradients)
    norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, norm_type)
    return [norm] + [parameter.grad for parameter in parameters]


def clip_value(*gradients, clip_value):
    parameters = with_gradients(gradients)
    torch.nn.utils.clip_grad_value_(parameters, clip_value)
    return [parameter.grad for parameter in parameters]


SGD = [
    {"lr": 0.1},
    {"lr": 0.1, "weight_decay": 0.05},
    {"lr": 0.1, "momentum": 0.9},
    {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
    {"lr": 0.1, "momentum": 0.9, "nesterov": True},
    {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "nesterov": True},
    {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "dampening": 0.5},
    {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "maximize": True},
]
ADAM = [
    {"lr": 0.01},
    {"lr": 0.1, "betas": (0.5, 0.9)},
    {"lr": 0.01, "eps": 0.1},
    {"lr": 0.01, "weight_decay": 0.1},
    {"lr": 0.1, "betas": (0.5, 0.7), "amsgrad": True},
    {"lr": 0.01, "weight_decay": 0.1, "amsgrad": True, "maximize": True},
]
ADAMW = [
    {"lr": 0.01},
    {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.5},
    {"lr": 0.1, "eps": 0.1, "weight_decay": 0.0},
    {"lr": 0.1, "betas": (0.5, 0.7), "amsgrad": True},
    {"lr": 0.05, "weight_decay": 0.3, "maximize": True},
]
ADAGRAD = [
    {"lr": 0.01},
    {"lr": 0.5, "lr_decay": 0.2},
    {"lr": 0.1, "initial_accumulator_value": 0.5, "eps": 0.1},
    {"lr": 0.1, "weight_decay": 0.3},
    {"lr": 0.1, "weight_decay": 0.3, "maximize": True},
]
ADADELTA = [
    {},
    {"lr": 0.5, "rho": 0.6, "eps": 0.01},
    {"lr": 2.0, "rho": 0.95, "weight_decay": 0.3},
    {"lr": 1.0, "weight_decay": 0.3, "maximize": True},
]
RMSPROP = [
    {"lr": 0.01},
    {"lr": 0.05, "alpha": 0.7, "eps": 0.1, "weight_decay": 0.2},
    {"lr": 0.05, "alpha": 0.9, "momentum": 0.8},
    {"lr": 0.01, "alpha": 0.9, "centered": True},
    {"lr": 0.05, "alpha": 0.8, "centered": True, "momentum": 0.5, "weight_decay": 0.2, "maximize": True},
]
ADAMAX = [
    {"lr": 0.002},
    {"lr": 0.1, "betas": (0.5, 0.7)},
    {"lr": 0.1, "eps": 0.5, "weight_decay": 0.2},
    {"lr": 0.1, "weight_decay": 0.2, "maximize": True},
]
RPROP = [
    {"lr": 0.01},
    {"lr": 0.1, "etas": (0.3, 1.7)},
    {"lr": 0.1, "etas": (0.5, 2.0), "step_sizes": (0.07, 0.15)},
    {"lr": 0.05, "maximize": True},
]
NADAM = [
    {"lr": 0.01},
    {"lr": 0.05, "betas": (0.5, 0.7), "eps": 0.1, "momentum_decay": 0.2},
    {"lr": 0.01, "weight_decay": 0.2},
]
RADAM = [
    {"lr": 0.01},
    {"lr": 0.1, "betas": (0.5, 0.9), "eps": 0.1},
    {"lr": 0.01, "betas": (0.8, 0.6), "weight_decay": 0.2},
]
ASGD = [
    {"lr": 0.1},
    {"lr": 0.1, "lambd": 0.3, "alpha": 0.6, "t0": 4, "weight_decay": 0.1},
]
SPARSE_ADAM = [
    {"lr": 0.01},
    {"lr": 0.1, "betas": (0.5, 0.7), "eps": 0.1},
]
