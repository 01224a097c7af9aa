"""Calls of Troupe and of PyTorch's RPC side by side: `side_by_side.py <the benchmark of calls> [--only <text>] [--repetitions 9]`.

For each row the nodes are started twice, once of Troupe (ipc) and once of PyTorch's RPC (TensorPipe, shared memory), with
the same environment and cores; repetitions alternate. Rows with floors (rpc/floors/) have these as further sides. Nodes of
PyTorch's RPC poll when they have nothing to do, so they are stopped (SIGSTOP) while Troupe is measured. A ratio is PyTorch's time over Troupe's, so above 1 Troupe is faster; its interval
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


def further_peers(program):
    """Returns the programs of peers/ that were built, by name, with the names of their rows."""
    folder = pathlib.Path(program).resolve().parents[1] / "bench_peers"
    return {path.name: (str(path), lines_of([str(path), "--rows"])) for path in sorted(folder.glob("*"))}


def lines_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split()


def compare(program, name, floors, peers, threads, repetitions):
    """`floors`: the names of those of this row. `peers`: further ones, by name, as commands. Their ratios are theirs over Troupe's, as
    PyTorch's is; a floor's is Troupe's time over its own."""
    commands = {"troupe": [program, "--row", name],
                "pytorch": [sys.executable, str(pathlib.Path(__file__).with_name("peer.py")), name]}
    commands.update({f"floor {floor}": [program, "--floor", floor] for floor in floors})
    commands.update(peers)
    rates, percentiles = sides.rates_of(commands, threads, repetitions)
    troupe, pytorch, *further = numpy.median(rates, axis=0)
    low, high = sides.ratio_interval(rates, 0, 1)
    figures = {"name": f"rpc/{name}", "threads": threads, "unit": "us", "troupe": 1e6 / troupe, "pytorch": 1e6 / pytorch,
               "ratio": troupe / pytorch, "low": low, "high": high, "n": repetitions}
    for other, rate in zip([f"floor {floor}" for floor in floors] + list(peers), further):
        of_floor = other.startswith("floor ")
        figures.update({other: 1e6 / rate, f"{other} ratio": rate / troupe if of_floor else troupe / rate})
    for side in ("troupe", "pytorch"):
        seconds = percentiles[side]
        figures.update({f"{side}_{name}": 1e6 * s for name, s in zip(["p50", "p90", "p99", "p99.9"], seconds)})
    sides.print_figures(figures)
    return figures


def compare_due(program, name, threads, repetitions):
    """Each side makes calls at a part of its own highest rate; a call's time begins when it was due."""
    commands = {"troupe": [program, "--row", name],
                "pytorch": [sys.executable, str(pathlib.Path(__file__).with_name("peer.py")), name]}
    rates, percentiles = sides.rates_of(commands, threads, repetitions)
    figures = {"name": f"rpc/{name}", "threads": threads, "unit": "us", "n": repetitions}
    for side, rate in zip(commands, numpy.median(rates, axis=0)):
        figures[f"{side}_calls_per_second"] = rate
        figures.update({f"{side}_{share}": 1e6 * s for share, s in zip(["p50", "p90", "p99", "p99.9"], percentiles[side])})
    sides.print_figures(figures)
    return figures


def print_due_table(results):
    print("| row | Troupe, calls/s | 50, 90, 99, 99.9 % | PyTorch, calls/s | 50, 90, 99, 99.9 % |\n|---|---|---|---|---|")
    for row in results:
        cells = [cell for side in ("troupe", "pytorch")
                 for cell in (f"{row[f'{side}_calls_per_second']:,.0f}",
                              ", ".join(chart.time_text(row[f"{side}_{p}"]) for p in ("p50", "p90", "p99", "p99.9")))]
        print(f"| {row['name'].removeprefix('rpc/')} | {' | '.join(cells)} |")


def print_table(results):
    """Prints the results as rows of the README's table; tails are times within which 99 and 99.9 % ended. In parentheses are
    Troupe's time as a multiple of a floor, and a further peer's as a multiple of Troupe's."""
    print("| row | Troupe | PyTorch | ratio (95 %) | Troupe 99, 99.9 % | PyTorch 99, 99.9 % | floors | other peers |")
    print("|---|---|---|---|---|---|---|---|")
    for row in results:
        texts = {key.removesuffix(" ratio"): f"{chart.time_text(row[key.removesuffix(' ratio')])} ({chart.ratio_text(row[key])})"
                 for key in row if key.endswith(" ratio")}
        floors = ", ".join(text for other, text in texts.items() if other.startswith("floor "))
        peers = ", ".join(f"{other} {text}" for other, text in texts.items() if not other.startswith("floor "))
        tails = [", ".join(chart.time_text(row[f"{side}_{p}"]) for p in ("p99", "p99.9")) if f"{side}_p99" in row else ""
                 for side in ("troupe", "pytorch")]
        print(f"| {row['name'].removeprefix('rpc/')} | {chart.time_text(row['troupe'])} | {chart.time_text(row['pytorch'])} | "
              f"{chart.ratio_text(row['ratio'])} ({chart.ratio_text(row['low'])} to {chart.ratio_text(row['high'])}) | {tails[0]} | {tails[1]} | "
              f"{floors} | {peers} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", type=int, default=1, help="of mathematics, in each process")
    parser.add_argument("--only", default="")
    parser.add_argument("--repetitions", type=int, default=9)
    parser.add_argument("--svg", help="the file of a chart of the results")
    options = parser.parse_args()
    print("all sides:", json.dumps(sides.ALLOCATOR), flush=True)
    rows, floors = (lines_of([options.program, flag]) for flag in ("--rows", "--floors"))
    peers = further_peers(options.program)
    rows = [row for row in rows if options.only in row]
    due = [compare_due(options.program, row, options.threads, options.repetitions) for row in rows if row.startswith("due/")]
    results = []
    for row in rows:
        if row.startswith("due/"):
            continue
        of_row = [floor for floor in floors if f"{floor}/".startswith(f"{row}/")]
        with_row = {peer: [path, row] for peer, (path, known) in peers.items() if row in known}
        results.append(compare(options.program, row, of_row, with_row, options.threads, options.repetitions))
    if due:
        print_due_table(due)
    if not results:
        return
    print_table(results)
    if options.svg:
        pathlib.Path(options.svg).write_text(chart.draw("Calls of Troupe and of PyTorch's RPC between processes of one host", results))
    sides.print_summary(results, family_of=lambda name: name.split("/")[1])  # "rpc/identity/4MB" is of the family "identity"


main()
