"""Calls of Troupe and of PyTorch's RPC side by side: `side_by_side.py <the benchmark of calls> [--only <text>] [--repetitions 9]`.

For each row the nodes are started twice, once of Troupe (ipc) and once of PyTorch's RPC (TensorPipe, shared memory), with
the same environment and cores; repetitions alternate. Nodes of PyTorch's RPC poll when they have nothing to do, so they are
stopped (SIGSTOP) while Troupe is measured. A ratio is PyTorch's time over Troupe's, so above 1 Troupe is faster; its interval
holds 95 % of 10,000 bootstrap samples of the medians.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import chart
import sides


def compare(program, name, threads, repetitions):
    commands = {"troupe": [program, "--row", name],
                "pytorch": [sys.executable, str(pathlib.Path(__file__).with_name("peer.py")), name]}
    rates, percentiles = sides.rates_of(commands, threads, repetitions)
    troupe, pytorch = numpy.median(rates, axis=0)
    low, high = sides.ratio_interval(rates, 0, 1)
    figures = {"name": f"rpc/{name}", "threads": threads, "unit": "us", "troupe": 1e6 / troupe, "pytorch": 1e6 / pytorch,
               "ratio": troupe / pytorch, "low": low, "high": high, "n": repetitions}
    for side, seconds in percentiles.items():
        figures.update({f"{side}_{name}": 1e6 * s for name, s in zip(["p50", "p90", "p99", "p99.9"], seconds)})
    sides.print_figures(figures)
    return figures


def print_table(results):
    """Prints the results as rows of the README's table; tails are times within which 99 and 99.9 % ended."""
    print("| row | Troupe | PyTorch | ratio (95 %) | Troupe 99, 99.9 % | PyTorch 99, 99.9 % |\n|---|---|---|---|---|---|")
    for row in results:
        tails = [", ".join(chart.time_text(row[f"{side}_{p}"]) for p in ("p99", "p99.9")) if f"{side}_p99" in row else ""
                 for side in ("troupe", "pytorch")]
        print(f"| {row['name'].removeprefix('rpc/')} | {chart.time_text(row['troupe'])} | {chart.time_text(row['pytorch'])} | "
              f"{chart.ratio_text(row['ratio'])} ({chart.ratio_text(row['low'])} to {chart.ratio_text(row['high'])}) | {tails[0]} | {tails[1]} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1, help="of mathematics, in each process")
    parser.add_argument("--only", default="")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--svg", help="the file of a chart of the results")
    options = parser.parse_args()
    print("all sides:", json.dumps(sides.ALLOCATOR), flush=True)
    names = subprocess.run([options.program, "--rows"], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    results = [compare(options.program, name, options.threads, options.repetitions) for name in names if options.only in name]
    print_table(results)
    if options.svg:
        pathlib.Path(options.svg).write_text(chart.draw("Calls of Troupe and of PyTorch's RPC between processes of one host", results))
    sides.print_summary(results, family_of=lambda name: name.split("/")[1])  # "rpc/identity/4MB" is of the family "identity"


main()
