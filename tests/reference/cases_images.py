"""Interpolation, rearrangement and windows of images; distances."""

import torch.nn.functional as F

from recipe import normal


def interpolate(x, mode, size=None, scale=None, align_corners=None):
    size = None if size is None else [int(n) for n in size]
    scale = None if scale is None else [float(n) for n in scale]
    corners = align_corners if mode != "nearest" else None
    return F.interpolate(x, size, scale, mode, corners)


def add(group):
    group.case("pixel_shuffle", lambda x, factor: F.pixel_shuffle(x, factor), [normal(1, 4, 1, 2)], factor=2)
    group.case("pixel_unshuffle", lambda x, factor: F.pixel_unshuffle(x, factor), [normal(1, 1, 2, 4)], factor=2)
    for size in [(5,), (2,)]:
        group.case("interpolate", interpolate, [normal(1, 1, 3)], mode="nearest", size=size, align_corners=False)
        for corners in [True, False]:
            group.case("interpolate", interpolate, [normal(1, 1, 3)], mode="linear", size=size, align_corners=corners)
            group.case("interpolate", interpolate, [normal(1, 1, 2, 3)], mode="bilinear", size=(3,) + size,
                       align_corners=corners)
    for mode in ["nearest", "bilinear"]:
        for scale in [(1.7, 1.6), (0.6, 2.0)]:
            group.case("interpolate", interpolate, [normal(1, 1, 4, 2)], mode=mode, scale=scale, align_corners=False)
    # A scale that leaves the size. torch's gradients are not those of its result then.
    for shape, scale in [((1, 2, 2, 2), (1.3, 1.3)), ((1, 1, 3), (1.3,))]:
        group.case("interpolate", interpolate, [normal(*shape)], grad=False, mode="nearest", scale=scale,
                   align_corners=False)
    options = dict(kernel=(2, 1), dilation=(1, 2), padding=(1, 0), stride=(2, 1))
    group.case("unfold", lambda x, kernel, dilation, padding, stride: F.unfold(x, kernel, dilation, padding, stride),
               [normal(1, 2, 2, 3)], **options)
    group.case("fold", lambda x, size, kernel, dilation, padding, stride: F.fold(x, size, kernel, dilation, padding, stride),
               [normal(1, 2, 6)], size=(2, 3), **options)
    for p in [1.0, 2.0]:
        group.case("pairwise_distance", lambda a, b, p: F.pairwise_distance(a, b, p), [normal(3, 2), normal(3, 2)], p=p)
        group.case("normalize", lambda x, p, dim: F.normalize(x, p, dim), [normal(3, 2)], p=p, dim=1)
