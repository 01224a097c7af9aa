"""Troupe and PyTorch side by side: `side_by_side.py <the tensor benchmark> [--threads 1,2] [--only <text>] [--repetitions 15]`.

Both run as servers of rows (see tensor_bench.cc) with the same environment, on the same cores. Repetitions alternate. A
ratio is PyTorch's time over Troupe's, so above 1 Troupe is faster; its interval holds 95 % of 10,000 bootstrap samples of
the medians. Of training steps it also says how much memory fresh processes take at most, above what they start with.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

import numpy

REPETITION_SECONDS = 0.05  # at least: below, the clock and the scheduler show

# glibc returns large blocks to the system at once, and fresh pages cost page faults; this makes it keep the blocks.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}


class Side:
    """One of the two servers."""

    def __init__(self, command, threads):
        cores = sorted(os.sched_getaffinity(0))[:threads]
        environment = dict(os.environ, **ALLOCATOR, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))
        self.rows = self._line().split()

    def ask(self, name, times):
        self.process.stdin.write(f"{name} {times}\n")
        self.process.stdin.flush()
        return self._line()

    def seconds(self, name, times):
        return float(self.ask(name, times))

    def times_for(self, name):
        """Returns the number of runs in one repetition."""
        times = 1
        self.seconds(name, times)
        while self.seconds(name, times) < REPETITION_SECONDS:
            times *= 2
        return times

    def peak_mib(self):
        """Returns the peak memory of this process."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def _line(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args} ended")
        return line.strip()


def memory_of(command, name, threads):
    """Returns the memory that a fresh process uses for the row, minus the memory at its start."""
    side = Side(command, threads)
    before = side.peak_mib()
    side.ask(name, 3)
    after = side.peak_mib()
    side.close()
    return after - before


def compare(ours, peer, name, threads, repetitions):
    autograd = ours.ask(name, "-")
    if autograd != peer.ask(name, "-"):
        raise SystemExit(f"{name} does not record the same on both sides")
    times = [side.times_for(name) for side in (ours, peer)]
    samples = numpy.array([[side.seconds(name, n) / n for side, n in zip((ours, peer), times)] for _ in range(repetitions)])
    medians = numpy.median(samples, axis=0)
    picks = numpy.random.RandomState(0).randint(0, repetitions, (10000, repetitions))
    resampled = numpy.median(samples[picks], axis=1)
    low, high = numpy.percentile(resampled[:, 1] / resampled[:, 0], [2.5, 97.5])
    figures = {"name": name, "threads": threads, "autograd": autograd, "unit": "us", "troupe": medians[0] * 1e6,
               "pytorch": medians[1] * 1e6, "ratio": medians[1] / medians[0], "low": low, "high": high, "n": repetitions}
    if autograd == "training step":
        for side, key in [(ours, "troupe_peak_mib"), (peer, "pytorch_peak_mib")]:
            figures[key] = memory_of(side.process.args, name, threads)
    print(json.dumps({key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()}),
          flush=True)
    return figures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    parser.add_argument("--repetitions", type=int, default=15)
    options = parser.parse_args()
    print("both sides:", json.dumps({**ALLOCATOR, "cores": "the first of the threads"}), flush=True)
    results = []
    for threads in map(int, options.threads.split(",")):
        ours = Side([options.program, "--serve"], threads)
        peer = Side([sys.executable, str(pathlib.Path(__file__).with_name("peer.py"))], threads)
        if set(ours.rows) != set(peer.rows):
            raise SystemExit(f"rows of one side only: {sorted(set(ours.rows) ^ set(peer.rows))}")
        for name in ours.rows:
            if options.only in name:
                results.append(compare(ours, peer, name, threads, options.repetitions))
        ours.close()
        peer.close()
    worst = min(results, key=lambda row: row["ratio"])
    mean = math.exp(sum(math.log(row["ratio"]) for row in results) / len(results))
    print(f"peer ratio: geometric mean {mean:.2f} (worst {worst['ratio']:.2f} at {worst['name']}, {worst['threads']} threads)")


main()
