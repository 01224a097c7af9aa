"""The rows of train_bench.cc with PyTorch's RPC: `peer.py <row> [--alone]`. Answers the same lines as `train --row <row> [--alone]`.

This process is the driver; the other nodes are its forks. All connections are over loopback and shared memory.
"""

import ctypes
import os
import signal
import sys
import tempfile
import threading
import time

os.environ.update(TP_SOCKET_IFNAME="lo", GLOO_SOCKET_IFNAME="lo")

import torch
import torch.distributed as dist
import torch.distributed.autograd as dist_autograd
import torch.distributed.rpc as rpc
import torch.nn.functional as F
from torch import nn
from torch.distributed.nn import RemoteModule
from torch.distributed.optim import DistributedOptimizer
from torch.distributed.rpc import RRef
from torch.nn.parallel import DistributedDataParallel

TRAINERS = ["trainer0", "trainer1"]
TRAINING_MAX_SECONDS = 300
rows = {}  # name -> (nodes, the driver first; function that makes the model and returns train(iterations) -> seconds)
alone = {}  # name -> function that makes the model in this process, for some rows


def seconds_of_times(count, iteration):
    """Returns the seconds of `count` calls after the first two, which are not counted."""
    for _ in range(2):
        iteration()
    begin = time.perf_counter()
    for _ in range(count):
        iteration()
    return time.perf_counter() - begin


def slowest(train, model):
    """Calls train(model, iterations) on all trainers at once. Returns the time of the slowest."""
    return lambda n: max(f.wait() for f in [rpc.rpc_async(t, train, args=(model, n)) for t in TRAINERS])


class MnistNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.dropout1, self.dropout2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2)
        x = torch.flatten(self.dropout1(x), 1)
        return self.fc2(self.dropout2(F.relu(self.fc1(x))))


step_lock = threading.Lock()


def step_digits(net, context):
    gradients = dist_autograd.get_gradients(context)
    with step_lock:
        for p in net.local_value().parameters():
            p.data.add_(gradients[p], alpha=-0.03)


def train_digits(net, iterations):
    """DistributedOptimizer writes parameters in place, which fails the other trainer's pass; writes to `data` do not."""
    module = net.get_module_rref()
    images, labels = digits()

    def iteration():
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [F.cross_entropy(net.forward(images), labels)])
            rpc.rpc_sync(module.owner(), step_digits, (module, context))

    return seconds_of_times(iterations, iteration)


def digits():
    return torch.randn(32, 1, 28, 28), torch.randint(0, 10, (32,))


def mnist():
    net = RemoteModule("ps", MnistNet)
    optimizer = DistributedOptimizer(torch.optim.SGD, net.remote_parameters(), lr=0.03)
    images, labels = digits()

    def iteration():
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [F.cross_entropy(net.forward(images), labels)])
            optimizer.step(context)

    return lambda iterations: seconds_of_times(iterations, iteration)


def mnist_alone():
    net = MnistNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03)
    images, labels = digits()

    def iteration():
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(net(images), labels).backward()
        optimizer.step()

    return lambda iterations: seconds_of_times(iterations, iteration)


rows["mnist"] = (["trainer", "ps"], mnist)
alone["mnist"] = mnist_alone
rows["parameter_server"] = (["master", "ps", *TRAINERS], lambda: slowest(train_digits, RemoteModule("ps", MnistNet)))


def train_bags(table, iterations):
    dense = DistributedDataParallel(nn.Linear(16, 8))
    parameters = table.remote_parameters() + [RRef(p) for p in dense.parameters()]
    optimizer = DistributedOptimizer(torch.optim.SGD, parameters, lr=0.05)
    batches = [(torch.randint(0, 100, (n,)), torch.arange(0, n, 4), torch.randint(0, 8, ((n + 3) // 4,)))
               for n in range(20, 50, 3)]
    taken = 0

    def iteration():
        nonlocal taken
        words, offsets, labels = batches[taken % len(batches)]
        taken += 1
        with dist_autograd.context() as context:
            dist_autograd.backward(context, [F.cross_entropy(dense(table.forward(words, offsets)), labels)])
            optimizer.step(context)

    return seconds_of_times(iterations, iteration)


rows["hybrid"] = (["master", "ps", *TRAINERS],
                  lambda: slowest(train_bags, RemoteModule("ps", nn.EmbeddingBag, (100, 16), {"mode": "sum"})))


class WordTable(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.table, self.dropout = nn.Embedding(words, width), nn.Dropout(0.4)

    def forward(self, words):
        return self.dropout(self.table(words))


class Decoder(nn.Module):
    def __init__(self, hidden, words):
        super().__init__()
        self.dropout, self.scores = nn.Dropout(0.4), nn.Linear(hidden, words)

    def forward(self, hidden):
        return self.scores(self.dropout(hidden))


def language_model():
    table, decoder = RemoteModule("ps", WordTable, (489, 64)), RemoteModule("ps", Decoder, (128, 489))
    lstm = nn.LSTM(64, 128)
    parameters = table.remote_parameters() + [RRef(p) for p in lstm.parameters()] + decoder.remote_parameters()
    optimizer = DistributedOptimizer(torch.optim.Adam, parameters, lr=5e-3)
    words, following = torch.randint(0, 489, (16, 8)), torch.randint(0, 489, (16 * 8,))
    state = torch.zeros(1, 8, 128), torch.zeros(1, 8, 128)

    def iteration():
        nonlocal state
        with dist_autograd.context() as context:
            read, (hidden, cell) = lstm(table.forward(words), state)
            state = hidden.detach(), cell.detach()
            dist_autograd.backward(context, [F.cross_entropy(decoder.forward(read).view(-1, 489), following)])
            optimizer.step(context)

    return lambda iterations: seconds_of_times(iterations, iteration)


rows["language_model"] = (["trainer", "ps"], language_model)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(inputs, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        y += self.shortcut(x)
        return F.relu(y, inplace=True)


def stage(inputs, width, blocks):
    layers = [Bottleneck(inputs, width, 1 if width == 64 else 2)]
    return layers + [Bottleneck(4 * width, width, 1) for _ in range(1, blocks)]


class Half(nn.Module):
    """A half of ResNet-50. Takes one part of a batch at a time, for the statistics of its batch normalisation."""

    def __init__(self, which):
        super().__init__()
        if which == "first":
            layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1),
                      *stage(64, 64, 3), *stage(256, 128, 4)]
        else:
            layers = [*stage(512, 256, 6), *stage(1024, 512, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 100)]
        self.layers, self.lock = nn.Sequential(*layers), threading.Lock()

    def forward(self, x):
        if not isinstance(x, torch.Tensor):
            x = x.to_here()
        with self.lock:
            return self.layers(x)

    def references(self):
        return [RRef(p) for p in self.parameters()]


def pipeline(splits):
    def make():
        first, second = rpc.remote("worker0", Half, ("first",)), rpc.remote("worker1", Half, ("second",))
        parameters = first.rpc_sync().references() + second.rpc_sync().references()
        optimizer = DistributedOptimizer(torch.optim.SGD, parameters, lr=0.05)
        images, labels = torch.randn(16, 3, 64, 64), torch.rand(16, 100)

        def iteration():
            with dist_autograd.context() as context:
                running = [second.rpc_async().forward(first.remote().forward(part)) for part in images.split(16 // splits)]
                scores = torch.cat([one.wait() for one in running])
                dist_autograd.backward(context, [F.mse_loss(scores, labels)])
                optimizer.step(context)

        return lambda iterations: seconds_of_times(iterations, iteration)

    return make


for count in [1, 4]:
    rows[f"pipeline/{count}"] = (["master", "worker0", "worker1"], pipeline(count))


def join(name, rank, nodes, folder):
    """Returns when all nodes are there. The trainers' group comes first: a call may use it at once."""
    if name in TRAINERS:
        dist.init_process_group("gloo", init_method=f"file://{folder}/gloo", rank=TRAINERS.index(name), world_size=len(TRAINERS))
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"file://{folder}/rpc", rpc_timeout=TRAINING_MAX_SECONDS)
    rpc.init_rpc(name, rank=rank, world_size=len(nodes), rpc_backend_options=options)


def answer(train):
    print("ready", flush=True)
    for line in sys.stdin:
        print(f"{train(int(line)):.9f}", flush=True)


def main():
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if "--alone" in sys.argv:
        return answer(alone[sys.argv[1]]())
    nodes, make = rows[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        driver = os.getpid()
        for rank, name in enumerate(nodes[1:], 1):
            if os.fork() == 0:
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: ends with the driver
                if os.getppid() == driver:
                    join(name, rank, nodes, folder)
                    rpc.shutdown()
                os._exit(0)
        join(nodes[0], 0, nodes, folder)
        answer(make())
    os._exit(0)  # and the forks with it


if __name__ == "__main__":
    main()
