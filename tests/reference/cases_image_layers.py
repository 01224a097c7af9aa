"""Layers of convolutions and pools, and activations of two pieces with the layers of all activations."""

import torch.nn.functional as F
from torch import nn

from recipe import distinct, normal, uniform


def add_convolutions(group):
    for op, make, x, kernel, options in [
        ("Conv1d", nn.Conv1d, (2, 4, 7), 3, dict(stride=1, padding=1, dilation=1, groups=2)),
        ("Conv1d", nn.Conv1d, (2, 4, 7), 2, dict(stride=2, padding=0, dilation=3, groups=1)),
        ("GroupedConv2d", nn.Conv2d, (2, 4, 5, 4), (3, 2), dict(stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2)),
        ("GroupedConv2d", nn.Conv2d, (1, 4, 4, 4), (3, 3), dict(stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=4)),
        ("ConvTranspose1d", nn.ConvTranspose1d, (2, 4, 4), 3,
         dict(stride=2, padding=1, dilation=1, groups=2, output_padding=1)),
        ("ConvTranspose2d", nn.ConvTranspose2d, (1, 4, 3, 3), (3, 2),
         dict(stride=(2, 1), padding=(1, 0), dilation=(1, 1), groups=2, output_padding=(1, 0))),
        ("ConvTranspose2d", nn.ConvTranspose2d, (1, 4, 2, 3), (2, 2),
         dict(stride=(2, 2), padding=(0, 0), dilation=(1, 1), groups=1, output_padding=(0, 0))),
    ]:
        bias = op == "Conv1d" or options["groups"] == 2
        group.module(op, lambda: make(4, 8, kernel, bias=bias, **options), [normal(*x)], channels=(4, 8), kernel=kernel,
                     bias=bias, **options)


def add_pools(group):
    line, image = distinct(2, 3, 7), distinct(1, 2, 7, 6)
    options = dict(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=True)
    group.module("MaxPool1d", lambda: nn.MaxPool1d(**options), [line], **options)
    options = dict(kernel_size=3, stride=2, padding=1, ceil_mode=False, count_include_pad=False)
    group.module("AvgPool1d", lambda: nn.AvgPool1d(**options), [line], **options)
    group.module("AvgPool2d", lambda: nn.AvgPool2d((3, 2), (2, 1), (1, 1), count_include_pad=False), [image],
                 kernel_size=(3, 2), stride=(2, 1), padding=(1, 1), ceil_mode=False, count_include_pad=False)
    group.module("AdaptiveAvgPool1d", lambda: nn.AdaptiveAvgPool1d(3), [line], output_size=3)
    group.module("AdaptiveAvgPool2d", lambda: nn.AdaptiveAvgPool2d((3, 1)), [image], output_size=(3, 1))
    group.module("AdaptiveMaxPool2d", lambda: nn.AdaptiveMaxPool2d((2, 4)), [image], output_size=(2, 4))


def add_activations(group):
    x = uniform(3, 5, low=-8, high=8)
    for slope in [0.01, 0.25]:
        group.case("leaky_relu", lambda x, slope: F.leaky_relu(x, slope), [x], slope=slope)
    for alpha in [1.0, 0.5]:
        group.case("elu", F.elu, [x], alpha=alpha)
    for low, high in [(-1.0, 1.0), (-2.5, 0.5)]:
        group.case("hardtanh", lambda x, low, high: F.hardtanh(x, low, high), [x], low=low, high=high)
    group.case("relu6", F.relu6, [x])
    group.module("Relu6", nn.ReLU6, [x])
    group.module("LeakyRelu", lambda: nn.LeakyReLU(0.2), [x], slope=0.2)
    group.module("Elu", lambda: nn.ELU(0.7), [x], alpha=0.7)
    group.module("Gelu", nn.GELU, [x])
    group.module("Silu", nn.SiLU, [x])
    group.module("Softplus", lambda: nn.Softplus(0.5, threshold=1000), [x], beta=0.5)
    group.module("Hardtanh", lambda: nn.Hardtanh(-2.0, 3.0), [x], low=-2.0, high=3.0)
    for dim in [0, 1]:
        group.module("Softmax", lambda: nn.Softmax(dim), [x], dim=dim)


def add(group):
    add_convolutions(group)
    add_pools(group)
    add_activations(group)
