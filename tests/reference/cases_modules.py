"""Modules with their parameters: names, values, gradients."""

import torch
from torch import nn

from recipe import distinct, integers, normal


def add(group):
    for inputs, outputs, x in [(4, 3, (5, 4)), (1, 1, (2, 1)), (7, 2, (2, 3, 7))]:
        for bias in [True, False]:
            group.module("Linear", lambda: nn.Linear(inputs, outputs, bias), [normal(*x)], inputs=inputs,
                         outputs=outputs, bias=bias)
    for channels, kernel, stride, padding, bias in [((2, 3), (3, 3), (1, 1), (0, 0), True),
                                                    ((1, 4), (3, 2), (2, 1), (1, 1), True),
                                                    ((3, 2), (1, 1), (1, 1), (0, 0), False)]:
        group.module("Conv2d", lambda: nn.Conv2d(*channels, kernel, stride, padding, bias=bias),
                     [normal(2, channels[0], 6, 7)], channels=channels, kernel=kernel, stride=stride, padding=padding,
                     bias=bias)
    for kernel, stride, padding in [((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1))]:
        group.module("MaxPool2d", lambda: nn.MaxPool2d(kernel, stride, padding), [distinct(2, 3, 7, 8)], kernel=kernel,
                     stride=stride, padding=padding)
    for rows, width, shape in [(7, 4, (5,)), (3, 2, (2, 6))]:
        group.module("Embedding", lambda: nn.Embedding(rows, width), [integers(*shape, high=rows)], rows=rows,
                     width=width)
    group.module("Relu", nn.ReLU, [normal(3, 4)])
    group.module("Tanh", nn.Tanh, [normal(3, 4)])
    group.module("Sigmoid", nn.Sigmoid, [normal(3, 4)])
    group.module("LogSoftmax", lambda: nn.LogSoftmax(-1), [normal(3, 4)])
    group.module("Flatten", nn.Flatten, [normal(3, 4, 2)])
    group.module("Dropout", lambda: nn.Dropout(0.5), [normal(3, 4)], train=False, probability=0.5)
    group.module("Dropout", lambda: nn.Dropout(0.0), [normal(3, 4)], probability=0.0)
    group.module("Sequential", lambda: nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3), nn.LogSoftmax(-1)),
                 [normal(5, 4)], sizes=(4, 6, 3))
    group.module("DigitNet", lambda: nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                                                   nn.Linear(36, 10)), [normal(2, 1, 8, 8)])
