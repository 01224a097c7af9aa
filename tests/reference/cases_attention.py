"""Attention and transformer encoders: results, weights, gradients of parameters and inputs."""

import numpy
import torch
from torch import nn

from recipe import normal

WIDTH, HEADS, QUERIES, KEYS, EXAMPLES, FEEDFORWARD = 6, 3, 3, 4, 2, 5

RANDOM = numpy.random.RandomState(5)


def mask_array(mask):
    return None if mask is None else torch.from_numpy(mask.astype(numpy.float64) if mask.dtype.kind == "f" else mask)


class Attention(nn.MultiheadAttention):
    """Of one input with itself, of a query with one memory, or of three inputs; result and averaged weights."""

    def __init__(self, attention=None, padding=None, averaged=True, **options):
        super().__init__(WIDTH, HEADS, **options)
        self.masks = dict(attn_mask=mask_array(attention), key_padding_mask=mask_array(padding))
        self.averaged = averaged

    def forward(self, query, key=None, value=None):
        key = query if key is None else key
        value = key if value is None else value
        output, weights = super().forward(query, key, value, average_attn_weights=self.averaged, **self.masks)
        return output, weights


class Encoder(nn.Module):
    """Takes masks from its construction."""

    def __init__(self, inner, attention, padding):
        super().__init__()
        self.__dict__["inner"] = inner
        for name, part in inner.named_children():
            self.add_module(name, part)
        self.masks = [mask_array(attention), mask_array(padding)]

    def forward(self, x):
        return self.inner(x, *self.masks)


def sizes(steps, batch_first, batched):
    batch = [EXAMPLES] if batched else []
    return (batch + [steps] if batch_first else [steps] + batch) + [WIDTH]


def add_attention(group):
    hidden = numpy.triu(numpy.ones((QUERIES, KEYS), dtype=bool), 2)
    by_head = RANDOM.rand(EXAMPLES * HEADS, QUERIES, KEYS) < 0.3
    by_head[:, :, 0] = False
    added = RANDOM.randn(QUERIES, KEYS).astype(numpy.float32)
    padding = numpy.array([[False, False, True, True], [False, True, False, False]])

    def case(inputs, averaged=True, bias=True, batch_first=False, batched=True, attention=None, padding=None):
        steps = [QUERIES, KEYS, KEYS] if inputs > 1 else [KEYS]
        given = [normal(*sizes(steps[i], batch_first, batched)) for i in range(inputs)]
        options = dict(bias=bias, batch_first=batch_first)
        group.module("MultiheadAttention", lambda: Attention(attention, padding, averaged, **options), given, width=WIDTH,
                     heads=HEADS, averaged=averaged, attention=attention, padding=padding, **options)

    for inputs in [1, 2, 3]:
        case(inputs)
    case(1, batch_first=True, bias=False)
    case(2, batched=False)
    case(3, batch_first=True, batched=False, bias=False)
    case(2, averaged=False)
    case(3, attention=hidden)
    case(3, attention=added, padding=padding, batch_first=True)
    case(2, attention=by_head)
    case(2, attention=by_head, padding=padding & False)
    case(1, padding=padding)
    case(1, attention=numpy.triu(numpy.ones((KEYS, KEYS), dtype=bool), 1), padding=padding)


def add_encoders(group):
    causal = numpy.triu(numpy.ones((QUERIES, QUERIES), dtype=bool), 1)
    padding = numpy.array([[False, False, True], [False, False, False]])
    for layers, activation, norm_first, batch_first, masked in [
            (0, "relu", False, False, False), (0, "gelu", False, True, True), (0, "relu", True, False, True), (2, "gelu", True, False, True), (2, "relu", False, True, False)]:
        attention, hidden = (causal, padding) if masked else (None, None)

        def make():
            layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FEEDFORWARD, 0.0, activation, layer_norm_eps=0.1,
                                               norm_first=norm_first, batch_first=batch_first)
            if layers == 0:
                return Encoder(layer, attention, hidden)
            return Encoder(nn.TransformerEncoder(layer, layers, nn.LayerNorm(WIDTH, eps=0.1)), attention, hidden)

        op = "TransformerEncoder" if layers else "TransformerEncoderLayer"
        group.module(op, make, [normal(*sizes(QUERIES, batch_first, True))], width=WIDTH, heads=HEADS, layers=layers,
                     feedforward=FEEDFORWARD, activation=activation, norm_first=norm_first, batch_first=batch_first, eps=0.1,
                     attention=attention, padding=hidden)


class Decoder(Encoder):
    def forward(self, x, memory):
        return self.inner(x, memory, tgt_mask=self.masks[0], memory_key_padding_mask=self.masks[1])


def add_decoders(group):
    causal = numpy.triu(numpy.ones((QUERIES, QUERIES), dtype=bool), 1)
    padding = numpy.array([[False, False, True, True], [False, True, False, False]])
    for layers, activation, norm_first, batch_first, masked in [
            (0, "gelu", True, True, True), (1, "relu", False, False, True)]:
        attention, hidden = (causal, padding) if masked else (None, None)

        def make():
            layer = nn.TransformerDecoderLayer(WIDTH, HEADS, FEEDFORWARD, 0.0, activation, layer_norm_eps=0.1,
                                               norm_first=norm_first, batch_first=batch_first)
            if layers == 0:
                return Decoder(layer, attention, hidden)
            return Decoder(nn.TransformerDecoder(layer, layers, nn.LayerNorm(WIDTH, eps=0.1)), attention, hidden)

        op = "TransformerDecoder" if layers else "TransformerDecoderLayer"
        group.module(op, make, [normal(*sizes(QUERIES, batch_first, True)), normal(*sizes(KEYS, batch_first, True))],
                     width=WIDTH, heads=HEADS, layers=layers, feedforward=FEEDFORWARD, activation=activation,
                     norm_first=norm_first, batch_first=batch_first, eps=0.1, attention=attention, memory_padding=hidden)


def attend(query, key, value, mask=None, causal=False, scale=None):
    """torch.nn.functional.scaled_dot_product_attention, which torch 1.13 does not have."""
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    if mask is not None:
        mask = mask_array(mask)
        scores = scores + mask if mask.is_floating_point() else scores.masked_fill(~mask, -torch.inf)
    return torch.softmax(scores, -1) @ value


def attend_with_bias(query, key, value, bias):
    """With a mask that is learned."""
    return torch.softmax(query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5 + bias, -1) @ value


def add_dot_products(group):
    group.case("biased_dot_product_attention", attend_with_bias,
               [normal(2, 2, 3), normal(2, 3, 3), normal(2, 3, 2), normal(2, 3)])

    def case(*shapes, **options):
        group.case("scaled_dot_product_attention", attend, [normal(*shape) for shape in shapes], **options)

    three = (2, 3, 4), (2, 5, 4), (2, 5, 2)
    shown = numpy.array([[True, False, True, True, False]] * 3)
    case(*three)
    case(*three, causal=True, scale=0.3)
    case(*three, mask=shown)
    case((2, 1, 3, 4), (2, 5, 4), (5, 3), mask=RANDOM.randn(2, 1, 3, 5).astype(numpy.float32), causal=True)


def add(group):
    add_attention(group)
    add_dot_products(group)
    add_encoders(group)
    add_decoders(group)
