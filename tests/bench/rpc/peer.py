"""The rows of rows.cc with PyTorch's RPC: `peer.py <row>`. Answers the same lines as `rpc --row <row>`.

This process is the first node; the others are its forks. All connections are over loopback and shared memory.
"""

import ctypes
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections import deque

os.environ.update(TP_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo")

import torch
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
from torch.distributed.optim import DistributedOptimizer
from torch.distributed.rpc import RRef

CALL_MAX_SECONDS = 300
PAIR = ["client", "server"]
SHARES = [0.5, 0.9, 0.99, 0.999]
# name -> (nodes, the first is this process; function that returns run(iterations) -> seconds, those of each, or both)
rows = {}


def nothing():
    pass


def identity(x):
    return x


def total(x):
    return x.sum().item()


def scaled(x):
    return x * 2


def fetched(rref):
    return rref.to_here()


def adds(x, times):
    for _ in range(times):
        x = x + 1
    return x


def call_often(server, count, window):
    under_way = deque()
    for _ in range(count):
        if len(under_way) == window:
            under_way.popleft().wait()
        under_way.append(rpc.rpc_async(server, nothing))
    for call in under_way:
        call.wait()


def parameter():
    return torch.ones(10, requires_grad=True)


def total_of(variables):
    return sum(v.local_value().sum() for v in variables)


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def one_by_one(name, nodes, make):
    """The first two iterations are not counted."""

    def made():
        iteration = make()

        def run(count):
            for _ in range(2):
                iteration()
            each, begin = [0.0] * count, time.perf_counter()
            for i in range(count):
                iteration()
                end = time.perf_counter()
                each[i], begin = end - begin, end
            return each

        return run

    rows[name] = (nodes, made)


def identity_row(size, floats):
    def make():
        x = torch.ones(floats)
        return lambda: rpc.rpc_sync("server", identity, (x,))

    one_by_one(f"identity/{size}", PAIR, make)


def fresh_row(size, floats):
    def make():
        numbers = iter(range(1, 1 << 40))
        return lambda: rpc.rpc_sync("server", total, (torch.full((floats,), float(next(numbers))),))

    one_by_one(f"fresh/{size}", PAIR, make)


def rate_row(window):
    def run(count):
        call_often("server", 2 * window, window)
        return seconds_of(lambda: call_often("server", count, window))

    rows[f"rate/{window}"] = (PAIR, lambda: run)


def rate_max():
    """Returns the calls per second that this node reaches with 256 in flight: the best of three rounds."""
    count = 256
    while seconds_of(lambda: call_often("server", count, 256)) < 0.2:
        count *= 2
    return count / min(seconds_of(lambda: call_often("server", count, 256)) for _ in range(3))


def call_when_due(count, per_second):
    """Makes each call when it is due, whatever became of the earlier ones. Returns the seconds of all, and those of each since
    it was due."""
    calls, each = queue.SimpleQueue(), [0.0] * count
    begin = time.perf_counter()

    def receive():
        for i in range(count):
            calls.get().wait()
            each[i] = time.perf_counter() - (begin + i / per_second)

    ctypes.CDLL(None).prctl(29, 1)  # PR_SET_TIMERSLACK, of this thread: sleep for no longer than asked
    receiver = threading.Thread(target=receive)
    receiver.start()
    for i in range(count):
        time.sleep(max(0, begin + i / per_second - time.perf_counter()))
        calls.put(rpc.rpc_async("server", nothing))
    receiver.join()
    return time.perf_counter() - begin, each


def due_row(percent):
    def make():
        per_second = rate_max() * percent / 100
        return lambda count: call_when_due(count, per_second)

    rows[f"due/{percent}%"] = (PAIR, make)


def clients_row():
    def all_clients(count):
        calls = [rpc.rpc_async(c, call_often, ("server", count, 16)) for c in ["client1", "client2", "client3"]]
        for call in calls:
            call.wait()

    rows["clients/3"] = (["driver", "server", "client1", "client2", "client3"],
                         lambda: lambda count: seconds_of(lambda: all_clients(count)))


def create_fetch_row(size, floats):
    def make():
        x = torch.ones(floats)
        return lambda: rpc.remote("server", identity, (x,)).to_here()

    one_by_one(f"rref/create_fetch/{size}", PAIR, make)


def chain_row(length):
    def iteration():
        with dist_autograd.context() as context:
            y = torch.ones(2, requires_grad=True)
            for _ in range(length):
                y = rpc.rpc_sync("server", scaled, (y,))
            dist_autograd.backward(context, [y.sum()])

    one_by_one(f"autograd/chain/{length}", PAIR, lambda: iteration)


def optimizer_row(parameters):
    def make():
        variables = [rpc.remote("server", parameter) for _ in range(parameters)]
        optimizer = DistributedOptimizer(torch.optim.SGD, variables, lr=0.01)

        def iteration():
            with dist_autograd.context() as context:
                dist_autograd.backward(context, [rpc.rpc_sync("server", total_of, (variables,))])
                optimizer.step(context)

        return iteration

    one_by_one(f"optimizer/{parameters}", PAIR, make)


def fork_fetch():
    x = torch.ones(1)
    return lambda: rpc.rpc_sync("third", fetched, (rpc.remote("server", identity, (x,)),))


def adds_200(x):
    return adds(x, 200)


def gpu_row(name, floats, function):
    """Tensors on the first GPU, which every node uses."""

    def make():
        x = torch.ones(floats, device="cuda:0")

        def iteration():
            rpc.rpc_sync("server", function, (x,))
            torch.cuda.synchronize()

        return iteration

    one_by_one(f"gpu/{name}", PAIR, make)


def add_often():
    x = torch.ones(1 << 20)
    return lambda: rpc.rpc_sync("server", adds, (x, 200))


one_by_one("identity/none", PAIR, lambda: lambda: rpc.rpc_sync("server", nothing))
for size, floats in [("4B", 1), ("64KB", 1 << 14), ("1MB", 1 << 18), ("4MB", 1 << 20), ("64MB", 1 << 24)]:
    identity_row(size, floats)
fresh_row("4MB", 1 << 20)
fresh_row("64MB", 1 << 24)
one_by_one("adds/200/4MB", PAIR, add_often)
rate_row(16)
rate_row(256)
for percent in [25, 50, 75, 90]:
    due_row(percent)
clients_row()
create_fetch_row("4B", 1)
create_fetch_row("4MB", 1 << 20)
one_by_one("rref/fork_fetch/4B", ["client", "server", "third"], fork_fetch)
chain_row(1)
chain_row(16)
optimizer_row(1)
optimizer_row(100)
for size, floats in [("4MB", 1 << 20), ("400MB", 100 << 20)]:
    gpu_row(f"identity/{size}", floats, identity)
    gpu_row(f"adds/200/{size}", floats, adds_200)


def join(name, rank, nodes, folder):
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rpc", rpc_timeout=CALL_MAX_SECONDS,
                                              device_maps={"server": {0: 0}} if sys.argv[1].startswith("gpu/") and rank == 0 else {})
    rpc.init_rpc(name, rank=rank, world_size=len(nodes), rpc_backend_options=options)


def main():
    nodes, make = rows[sys.argv[1]]
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    with tempfile.TemporaryDirectory() as folder:
        first = os.getpid()
        for rank, name in enumerate(nodes[1:], 1):
            if os.fork() == 0:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends with the first
                if os.getppid() == first:
                    join(name, rank, nodes, folder)
                    rpc.shutdown()
                os._exit(0)
        join(nodes[0], 0, nodes, folder)
        run = make()
        print("ready", flush=True)
        for line in sys.stdin:
            timing = run(int(line))
            if isinstance(timing, list):
                timing = sum(timing), timing
            seconds, each = timing if isinstance(timing, tuple) else (timing, [])
            each = sorted(each)
            shares = [each[min(len(each) - 1, int(share * len(each)))] for share in SHARES] if each else []
            print(*(f"{s:.9f}" for s in [seconds, *shares]), flush=True)
    os._exit(0)  # and the forks with it


if __name__ == "__main__":
    main()
