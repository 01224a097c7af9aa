"""Update rules: the values of two parameters after each of 20 steps."""

import torch


def add(group):
    sgd = [
        {"lr": 0.1},
        {"lr": 0.1, "weight_decay": 0.05},
        {"lr": 0.1, "momentum": 0.9},
        {"lr": 0.1, "momentum": 0.9, "dampening": 0.3},
        {"lr": 0.1, "momentum": 0.9, "nesterov": True},
        {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "nesterov": True},
        {"lr": 0.05, "momentum": 0.5, "weight_decay": 0.1, "dampening": 0.5},
    ]
    for options in sgd:
        group.optimizer("Sgd", torch.optim.SGD, **options)
    adam = [
        {"lr": 0.01},
        {"lr": 0.1, "betas": (0.5, 0.9)},
        {"lr": 0.01, "eps": 0.1},
        {"lr": 0.01, "weight_decay": 0.1},
    ]
    for options in adam:
        group.optimizer("Adam", torch.optim.Adam, **options)
