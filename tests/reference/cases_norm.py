"""Normalisation."""

import torch.nn.functional as F

from recipe import normal, uniform


def batch_norm(x, mean, var, weight=None, bias=None, training=True, momentum=0.1, eps=1e-5):
    """The output, and the running statistics after it."""
    mean, var = mean.clone(), var.clone()
    return F.batch_norm(x, mean, var, weight, bias, training, momentum, eps), mean, var


def add(group):
    for shape in [(5, 3), (2, 1), (4, 3, 6), (3, 2, 4, 5), (2, 70), (9, 4, 1), (2, 3, 2, 2, 3)]:
        c = shape[1]
        statistics = [normal(c), uniform(c, low=0.5, high=2.0)]
        for training in [True, False]:
            # Of two elements the gradient is the difference of almost equal numbers, in torch as well: left out.
            by_x = [] if training and len(shape) == 2 and shape[0] == 2 else [0]
            group.case("batch_norm", batch_norm, [normal(*shape)] + statistics + [normal(c), normal(c)],
                       grad=by_x + [3, 4], training=training)
            group.case("batch_norm", batch_norm, [normal(*shape)] + statistics, grad=by_x, training=training,
                       momentum=0.3, eps=0.01)

    for shape, last in [((4, 5), (5,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (4,)), ((3, 40), (40,)), ((20, 3), (3,))]:
        group.case("layer_norm", lambda x, w=None, b=None, **options: F.layer_norm(x, weight=w, bias=b, **options),
                   [normal(*shape), normal(*last), normal(*last)], normalized_shape=last, eps=1e-5)
        group.case("layer_norm", lambda x, w=None, b=None, **options: F.layer_norm(x, weight=w, bias=b, **options),
                   [normal(*shape)], normalized_shape=last, eps=0.1)

    for shape, groups in [((2, 4, 3), 2), ((3, 6), 2), ((2, 6, 2, 3), 1), ((2, 4, 5), 4), ((18, 2, 3), 1)]:
        c = shape[1]
        group.case("group_norm", lambda x, w=None, b=None, **options: F.group_norm(x, weight=w, bias=b, **options),
                   [normal(*shape), normal(c), normal(c)], num_groups=groups, eps=1e-5)
        group.case("group_norm", lambda x, w=None, b=None, **options: F.group_norm(x, weight=w, bias=b, **options),
                   [normal(*shape)], num_groups=groups, eps=0.1)

    for shape in [(2, 3, 4), (2, 2, 3, 5), (1, 4, 9)]:
        c = shape[1]
        group.case("instance_norm", lambda x, w=None, b=None, **options: F.instance_norm(x, weight=w, bias=b, **options),
                   [normal(*shape), normal(c), normal(c)], eps=1e-5)
        group.case("instance_norm", lambda x, w=None, b=None, **options: F.instance_norm(x, weight=w, bias=b, **options),
                   [normal(*shape)], eps=0.1)
