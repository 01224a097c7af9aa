"""Programs that are measured side by side: each makes a row, says "ready", and answers a number of iterations with their seconds,
and where it measures each with the seconds within which 50, 90, 99 and 99.9 % ended.

All have the same environment and cores, and their repetitions alternate. A side that does not answer within ANSWER_SECONDS
ends the benchmark, and with it all processes.
"""

import json
import math
import os
import selectors
import signal
import subprocess
import time

import numpy

POLLS = {"pytorch", "pytorch_cpp", "tensorpipe"}  # sides that use the cores while they wait
REPETITION_SECONDS = 0.5  # at least: below, the clock and the scheduler show
ANSWER_SECONDS = 120

# glibc returns large blocks to the system at once, and fresh pages cost page faults; this makes it keep the blocks.
ALLOCATOR = {"MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_MMAP_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(64 << 20)}


class Side:
    """One of the three that train a row, with all processes that it starts. `polls`: it uses the cores while it waits."""

    def __init__(self, name, command, threads, polls):
        self.name, self.polls = name, polls
        environment = dict(os.environ, **ALLOCATOR, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads),
                           OMP_WAIT_POLICY="passive")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                                        start_new_session=True)
        self.rest = b""
        self.percentiles = []  # of each answer that has them

    def ready(self):
        if self._line() != "ready":
            raise SystemExit(f"{self.name} did not begin with 'ready'")
        self._signal(signal.SIGSTOP)

    def seconds(self, iterations):
        self._signal(signal.SIGCONT)
        try:
            self.process.stdin.write(f"{iterations}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise SystemExit(f"{self.name} ended: {self.process.args}")
        seconds, *percentiles = map(float, self._line().split())
        self._signal(signal.SIGSTOP)
        if percentiles:
            self.percentiles.append(percentiles)
        return seconds

    def times(self):
        """Returns the number of iterations of one repetition."""
        count = 1
        while self.seconds(count) < REPETITION_SECONDS:
            count *= 2
        return count

    def close(self):
        self._signal(signal.SIGCONT)
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            pass
        self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()

    def _signal(self, number):
        if self.polls:
            os.killpg(self.process.pid, number)

    def _line(self):
        pipe, due = self.process.stdout, time.monotonic() + ANSWER_SECONDS
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in self.rest:
                if not selector.select(max(0, due - time.monotonic())):
                    raise SystemExit(f"{self.name} has not answered for {ANSWER_SECONDS} s: {self.process.args}")
                piece = os.read(pipe.fileno(), 4096)
                if not piece:
                    raise SystemExit(f"{self.name} ended: {self.process.args}")
                self.rest += piece
        line, self.rest = self.rest.split(b"\n", 1)
        return line.decode().strip()


def measure(sides, repetitions):
    """Returns iterations per second, (repetitions, sides)."""
    for side in sides:
        side.ready()
    counts = [side.times() for side in sides]
    for side in sides:
        side.percentiles.clear()
    return numpy.array([[n / side.seconds(n) for side, n in zip(sides, counts)] for _ in range(repetitions)])


def rates_of(commands, threads, repetitions):
    """Starts `commands`, by the names of their sides. Returns iterations per second, (repetitions, sides), and by side the
    seconds within which 50, 90, 99 and 99.9 % of the iterations ended: medians over the repetitions; [] where not measured."""
    sides = []
    try:
        for side, command in commands.items():
            sides.append(Side(side, command, threads, polls=side in POLLS))
        rates = measure(sides, repetitions)
        for side in sides:
            side.close()
    finally:
        for side in sides:
            side.kill()
    return rates, {side.name: numpy.median(side.percentiles, axis=0).tolist() if side.percentiles else [] for side in sides}


def ratio_interval(rates, above, below):
    """Returns the 95 % interval of the ratio of two columns' medians, of 10,000 bootstrap samples."""
    picks = numpy.random.RandomState(0).randint(0, len(rates), (10000, len(rates)))
    resampled = numpy.median(rates[picks], axis=1)
    return numpy.percentile(resampled[:, above] / resampled[:, below], [2.5, 97.5])


def print_figures(figures):
    print(json.dumps({key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()}),
          flush=True)


def mean_of(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def print_summary(results, family_of=None):
    """Prints the geometric mean of all ratios; also that of the families' means, where `family_of` names the family of a row."""
    worst = min(results, key=lambda row: row["ratio"])
    mean = f"geometric mean {mean_of([row['ratio'] for row in results]):.2f}"
    if family_of:
        families = {}
        for row in results:
            families.setdefault(family_of(row["name"]), []).append(row["ratio"])
        mean = mean.replace("mean", "mean of rows") + f", of families {mean_of(list(map(mean_of, families.values()))):.2f}"
    print(f"peer ratio: {mean} (worst {worst['ratio']:.2f} at {worst['name']})")
