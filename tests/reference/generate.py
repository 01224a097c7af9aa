#!/usr/bin/python3
"""Writes data/*.npz, what the reference suite compares Troupe with. Needs torch and NumPy; see README.md.

  /usr/bin/python3 tests/reference/generate.py             all groups
  /usr/bin/python3 tests/reference/generate.py shape nn    these
"""

import importlib
import pathlib
import sys

import numpy
import torch

from recipe import Group

GROUPS = [
    "elementwise",
    "activations",
    "inplace",
    "reduce",
    "products",
    "contractions",
    "conv",
    "image_layers",
    "images",
    "shape",
    "arrange",
    "nn",
    "losses",
    "margin_losses",
    "embedding",
    "norm",
    "options",
    "modules",
    "rnn",
    "layers",
    "attention",
    "optimizers",
    "schedules",
]


def main():
    print(f"torch {torch.__version__}, NumPy {numpy.__version__}")
    torch.set_num_threads(1)
    for name in sys.argv[1:] or GROUPS:
        group = Group(name)
        importlib.import_module(f"cases_{name}").add(group)
        group.write(pathlib.Path(__file__).parent / "data")


main()
