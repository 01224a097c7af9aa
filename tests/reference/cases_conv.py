"""Convolutions of lines, of groups and transposed; pools. Those of one group and the plain max_pool2d are in cases_nn.py."""

import torch.nn.functional as F

from recipe import distinct, normal


def add_each(group, op, function, cases):
    """Cases (x, weight, how many results, options), every other one with a bias."""
    for i, (x, weight, outputs, options) in enumerate(cases):
        bias = [normal(outputs)] if i % 2 == 0 else []
        group.case(op, lambda x, w, b=None, **o: function(x, w, b, **o), [normal(*x), normal(*weight)] + bias, **options)


def options(stride, padding, dilation, groups, **more):
    return dict(stride=stride, padding=padding, dilation=dilation, groups=groups, **more)


def add(group):
    add_each(group, "conv1d", F.conv1d, [
        ((2, 3, 8), (4, 3, 3), 4, options(1, 0, 1, 1)),
        ((2, 3, 9), (4, 3, 3), 4, options(2, 2, 2, 1)),
        ((1, 1, 5), (1, 1, 1), 1, options(1, 0, 1, 1)),
        ((2, 4, 7), (6, 2, 2), 6, options(1, 1, 1, 2)),
        ((3, 4, 7), (4, 1, 3), 4, options(3, 1, 1, 4)),
    ])
    add_each(group, "grouped_conv2d", F.conv2d, [
        ((2, 4, 5, 6), (6, 2, 3, 3), 6, options((1, 1), (1, 1), (1, 1), 2)),
        ((2, 4, 5, 6), (4, 1, 3, 2), 4, options((2, 1), (1, 0), (1, 1), 4)),
        ((1, 3, 6, 6), (6, 1, 3, 3), 6, options((1, 1), (2, 2), (2, 2), 3)),
        ((1, 16, 4, 4), (16, 1, 3, 3), 16, options((1, 1), (1, 1), (1, 1), 16)),
        ((3, 8, 2, 2), (4, 4, 1, 1), 4, options((1, 1), (0, 0), (1, 1), 2)),
        ((2, 6, 5, 4), (5, 6, 1, 1), 5, options((2, 1), (0, 0), (1, 1), 1)),
        ((3, 6, 2, 2), (5, 6, 3, 3), 5, options((1, 1), (1, 1), (1, 1), 1)),
    ])
    add_each(group, "conv_transpose1d", F.conv_transpose1d, [
        ((2, 3, 5), (3, 4, 3), 4, options(1, 0, 1, 1, output_padding=0)),
        ((2, 3, 5), (3, 4, 3), 4, options(2, 1, 1, 1, output_padding=1)),
        ((1, 4, 4), (4, 2, 2), 4, options(3, 0, 2, 2, output_padding=2)),
        ((1, 1, 3), (1, 1, 4), 1, options(1, 2, 1, 1, output_padding=0)),
        ((1, 1, 3), (1, 1, 2), 1, options(1, 0, 3, 1, output_padding=2)),
    ])
    add_each(group, "conv_transpose2d", F.conv_transpose2d, [
        ((2, 3, 4, 3), (3, 4, 3, 3), 4, options((1, 1), (0, 0), (1, 1), 1, output_padding=(0, 0))),
        ((2, 3, 3, 4), (3, 4, 3, 2), 4, options((2, 3), (1, 0), (1, 1), 1, output_padding=(1, 2))),
        ((1, 4, 3, 3), (4, 2, 3, 3), 4, options((2, 2), (1, 1), (1, 1), 2, output_padding=(1, 1))),
        ((1, 4, 3, 3), (4, 1, 2, 2), 4, options((1, 1), (0, 1), (2, 2), 4, output_padding=(1, 0))),
        ((1, 16, 2, 2), (16, 16, 2, 2), 16, options((2, 2), (0, 0), (1, 1), 1, output_padding=(0, 0))),
    ])
    add_pools(group)


def add_pools(group):
    for x, kernel, stride, padding, dilation, ceil_mode in [
        ((2, 3, 8), 2, 2, 0, 1, False),
        ((2, 3, 9), 2, 2, 0, 1, True),
        ((1, 2, 7), 3, 1, 1, 2, False),
        ((1, 2, 8), 3, 2, 1, 1, True),
    ]:
        group.case("max_pool1d", F.max_pool1d, [distinct(*x)], kernel_size=kernel, stride=stride, padding=padding,
                   dilation=dilation, ceil_mode=ceil_mode)
    for x, kernel, stride, padding, dilation, ceil_mode in [
        ((1, 2, 7, 8), (2, 3), (2, 2), (1, 1), (1, 1), True),
        ((1, 2, 9, 8), (3, 2), (1, 2), (1, 0), (2, 3), False),
        ((1, 2, 9, 8), (3, 3), (2, 3), (0, 1), (2, 1), True),
        ((2, 1, 5, 5), (1, 1), (2, 2), (0, 0), (1, 1), False),
    ]:
        group.case("dilated_max_pool2d", F.max_pool2d, [distinct(*x)], kernel_size=kernel, stride=stride,
                   padding=padding, dilation=dilation, ceil_mode=ceil_mode)
    for x, kernel, stride, padding, ceil_mode, count_include_pad in [
        ((2, 3, 8), 2, 2, 0, False, True),
        ((2, 3, 9), 3, 2, 1, True, True),
        ((2, 3, 9), 4, 4, 2, True, False),
    ]:
        group.case("avg_pool1d", F.avg_pool1d, [normal(*x)], kernel_size=kernel, stride=stride, padding=padding,
                   ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    for x, kernel, stride, padding, ceil_mode, count_include_pad in [
        ((2, 2, 6, 6), (2, 2), (2, 2), (0, 0), False, True),
        ((1, 2, 7, 6), (3, 2), (2, 1), (1, 1), False, True),
        ((1, 2, 7, 6), (3, 2), (2, 1), (1, 1), False, False),
        ((1, 2, 8, 6), (3, 3), (2, 2), (1, 0), True, True),
        ((1, 2, 8, 6), (4, 4), (3, 3), (2, 1), True, False),
        ((1, 1, 5, 4), (5, 4), (1, 1), (0, 0), False, True),
    ]:
        group.case("avg_pool2d", F.avg_pool2d, [normal(*x)], kernel_size=kernel, stride=stride, padding=padding,
                   ceil_mode=ceil_mode, count_include_pad=count_include_pad)
    for x, size in [((2, 3, 8), 1), ((2, 3, 8), 3), ((1, 2, 3), 5)]:
        group.case("adaptive_avg_pool1d", F.adaptive_avg_pool1d, [normal(*x)], output_size=size)
    for x, size in [((2, 2, 5, 5), (1, 1)), ((1, 2, 7, 8), (3, 4)), ((1, 2, 2, 3), (4, 2)), ((1, 2, 6, 6), (2, 3))]:
        group.case("adaptive_avg_pool2d", F.adaptive_avg_pool2d, [normal(*x)], output_size=size)
        group.case("adaptive_max_pool2d", F.adaptive_max_pool2d, [distinct(*x)], output_size=size)
