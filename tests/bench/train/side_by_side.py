"""Troupe and PyTorch side by side: `side_by_side.py <the training benchmark> [--threads 1] [--only <text>] [--repetitions 9]`.

For each row the model is made three times: on Troupe's nodes, on nodes of PyTorch's RPC, and with Troupe in one process;
some rows are made with PyTorch in one process, too.
All processes have the same environment and cores; repetitions alternate. Nodes of PyTorch's RPC poll when they have
nothing to do, and four of them fill two cores, so that they are stopped (SIGSTOP) while another side is measured. Troupe's
nodes wait without polling; they are not stopped, because they would then believe each other dead. A ratio is Troupe's iterations per second over
PyTorch's, so above 1 Troupe is faster; its interval holds 95 % of 10,000 bootstrap samples of the medians.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import sides


ALONE_WITH_PYTORCH = {"mnist"}


def compare(program, name, threads, repetitions):
    commands = {"troupe": [program, "--row", name],
                "pytorch": [sys.executable, str(pathlib.Path(__file__).with_name("peer.py")), name],
                "alone": [program, "--row", name, "--alone"]}
    if name in ALONE_WITH_PYTORCH:
        commands["pytorch_alone"] = [*commands["pytorch"], "--alone"]
    rates, _ = sides.rates_of(commands, threads, repetitions)
    troupe, pytorch, alone, *pytorch_alone = numpy.median(rates, axis=0)
    low, high = sides.ratio_interval(rates, 0, 1)
    figures = {"name": f"train/{name}", "threads": threads, "unit": "iterations/s", "troupe": troupe, "pytorch": pytorch,
               "ratio": troupe / pytorch, "low": low, "high": high, "alone": alone, "of_alone": troupe / alone,
               "n": repetitions}
    for rate in pytorch_alone:
        figures.update({"pytorch_alone": rate, "of_pytorch_alone": troupe / rate})
    sides.print_figures(figures)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1, help="of mathematics, in each process")
    parser.add_argument("--only", default="")
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    print("all sides:", json.dumps(sides.ALLOCATOR), flush=True)
    names = subprocess.run([options.program, "--rows"], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    sides.print_summary([compare(options.program, name, options.threads, options.repetitions) for name in names
                         if options.only in name])


main()
