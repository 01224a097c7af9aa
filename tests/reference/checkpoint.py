#!/usr/bin/python3
"""Writes data/checkpoint.safetensors: the state of a torch model, an input, and what the model makes of it in eval mode.

The format, as safetensors' own writer leaves it: the length of the header, the header as JSON, the arrays one after the
other.
"""

import json
import pathlib
import struct

import torch

from cases_layers import norm_net

DTYPES = {torch.float32: "F32", torch.int64: "I64"}


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    network = norm_net().eval()
    example = torch.randn(2, 1, 5, 6)
    tensors = dict(network.state_dict())
    tensors["example.input"] = example
    tensors["example.output"] = network(example).detach()

    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = tensor.contiguous().numpy().tobytes()
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(__file__).parent / "data" / "checkpoint.safetensors"
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    print(f"{path.name}: {path.stat().st_size} bytes")


main()
