"""Recurrent layers: results, last states, gradients of parameters, inputs and states."""

from torch import nn

from recipe import normal


class LSTM(nn.LSTM):
    """Its three results side by side."""

    def forward(self, x, *state):
        output, (hidden, cell) = super().forward(x, state or None)
        return output, hidden, cell


class GRU(nn.GRU):
    def forward(self, x, *state):
        return super().forward(x, *state)


class RNN(nn.RNN):
    def forward(self, x, *state):
        return super().forward(x, *state)


STEPS, EXAMPLES, INPUTS, HIDDEN = 3, 2, 2, 3

# layers, bidirectional, batch_first, bias, with an initial state, batched
LAYERS = [
    (1, False, False, True, False, True),
    (1, False, False, False, True, True),
    (1, True, False, True, True, True),
    (2, False, True, True, True, True),
    (2, True, False, True, False, True),
    (2, True, True, False, True, True),
    (2, True, False, True, True, False),
]


def add_layers(group, op, make, states, which=LAYERS, **options):
    for layers, bidirectional, batch_first, bias, stateful, batched in which:
        directions = 2 if bidirectional else 1
        batch = [EXAMPLES] if batched else []
        x = normal(*(batch + [STEPS] if batch_first else [STEPS] + batch), INPUTS)
        state = [normal(layers * directions, *batch, HIDDEN) for _ in range(states if stateful else 0)]
        group.module(op, lambda: make(INPUTS, HIDDEN, layers, bias, batch_first, bidirectional=bidirectional, **options),
                     [x] + state, inputs=INPUTS, hidden=HIDDEN, layers=layers, bias=bias, batch_first=batch_first,
                     bidirectional=bidirectional, **options)


def add(group):
    add_layers(group, "Lstm", LSTM, 2)
    add_layers(group, "Gru", GRU, 1, LAYERS[:3] + LAYERS[4:6])
    add_layers(group, "Rnn", RNN, 1, LAYERS[1:5:2], nonlinearity="tanh")
    add_layers(group, "Rnn", RNN, 1, LAYERS[2:4], nonlinearity="relu")
    # one step, one example, one number
    group.module("Lstm", lambda: LSTM(1, 1), [normal(1, 1, 1)], inputs=1, hidden=1, layers=1, bias=True,
                 batch_first=False, bidirectional=False)
    # wide enough for whole vectors and a rest
    group.module("Lstm", lambda: LSTM(2, 17), [normal(2, 2, 2)], inputs=2, hidden=17, layers=1, bias=True,
                 batch_first=False, bidirectional=False)

    for bias in [True, False]:
        for op, make, states in [("LstmCell", nn.LSTMCell, 2), ("GruCell", nn.GRUCell, 1), ("RnnCell", nn.RNNCell, 1)]:
            for stateful in [True, False]:
                state = [normal(EXAMPLES, HIDDEN) for _ in range(states if stateful else 0)]

                class Cell(make):
                    def forward(self, x, *state):
                        if not state:
                            return super().forward(x)
                        return super().forward(x, state if len(state) > 1 else state[0])

                group.module(op, lambda: Cell(INPUTS, HIDDEN, bias), [normal(EXAMPLES, INPUTS)] + state, inputs=INPUTS,
                             hidden=HIDDEN, bias=bias)
