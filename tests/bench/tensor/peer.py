"""The rows of tensor_bench.cc in PyTorch. Reads and answers the same lines as `tensor --serve`."""

import itertools
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

ADDS = 200
rows = {}  # name -> (what is recorded, function that makes the work)


def row(name, autograd):
    def add(prepare):
        rows[name] = (autograd, prepare)
        return prepare

    return add


def add_chain(size, elements):
    @row(f"chain/{ADDS}_adds/{size}", "none")
    def prepare():
        x, y = torch.randn(elements), torch.randn(elements)

        def work():
            total = x + y
            for _ in range(1, ADDS):
                total = total + y

        return work


def add_small(name, f):
    @row(f"small/{name}", "none")
    def plain():
        a, b = torch.randn(5, 2), torch.randn(5, 2)
        return lambda: f(a, b)

    @row(f"small/{name}/recorded", "forward")
    def recorded():
        a, b = torch.randn(5, 2, requires_grad=True), torch.randn(5, 2, requires_grad=True)
        return lambda: f(a, b)


def gradients(roots, inputs, grads=None):
    """As Troupe's backward: returns gradients, and does not add them to those of the leaves."""
    return torch.autograd.grad(roots, inputs, grads)


def add_sgemm(n):
    @row(f"sgemm/{n}", "none")
    def prepare():
        a, b = torch.randn(n, n), torch.randn(n, n)
        return lambda: torch.matmul(a, b)


def add_convolution(name, batch, inputs, outputs, side, kernel, stride, padding):
    def operands(requires_grad):
        return [torch.randn(*shape, requires_grad=requires_grad)
                for shape in [(batch, inputs, side, side), (outputs, inputs, kernel, kernel), (outputs,)]]

    @row(f"conv2d/{name}", "none")
    def forward():
        x, w, b = operands(False)
        return lambda: F.conv2d(x, w, b, stride, padding)

    @row(f"conv2d/{name}/backward", "forward + backward")
    def backward():
        x, w, b = operands(True)
        g = torch.ones_like(F.conv2d(x, w, b, stride, padding))
        return lambda: gradients(F.conv2d(x, w, b, stride, padding), [x, w, b], g)


for size, elements in [("4B", 1), ("4MB", 1 << 20), ("400MB", 100 << 20)]:
    add_chain(size, elements)
add_small("add", lambda a, b: a + b)
add_small("mul_scalar", lambda a, b: a * 2.0)
add_small("tanh", lambda a, b: torch.tanh(a))
add_small("sum", lambda a, b: torch.sum(a))


@row("small/linear/backward", "forward + backward")
def small_linear():
    x, w, b = torch.randn(5, 2), torch.randn(2, 2, requires_grad=True), torch.randn(2, requires_grad=True)
    return lambda: gradients(F.linear(x, w, b).sum(), [w, b])


def add_operation(name, prepare, f):
    @row(name, "none")
    def operation():
        operands = prepare()
        return lambda: f(*operands)


M = 1_000_000
add_operation("unique/1M", lambda: [torch.randint(0, 10_000, (M,))],
              lambda x: torch.unique(x, return_inverse=True, return_counts=True))
add_operation("median/1M", lambda: [torch.randn(M)], torch.median)
add_operation("cdist/512x512x64", lambda: [torch.randn(512, 64), torch.randn(512, 64)], torch.cdist)
add_operation("bincount/1M", lambda: [torch.randint(0, 10_000, (M,))], torch.bincount)
add_operation("histc/1M", lambda: [torch.randn(M)], lambda x: torch.histc(x, 100, -3.0, 3.0))
add_operation("repeat_interleave/10000x64", lambda: [torch.randn(10_000, 64), torch.arange(10_000) % 8],
              lambda x, counts: torch.repeat_interleave(x, counts, 0))
add_operation("cummax/1024x1024", lambda: [torch.randn(1024, 1024)], lambda x: torch.cummax(x, 1))
for power in range(6, 12):
    add_sgemm(2**power)
add_convolution("1x32x28", 32, 1, 32, 28, 3, 1, 0)
add_convolution("32x64x28", 32, 32, 64, 28, 3, 1, 0)
add_convolution("resnet/7x7_3x64", 8, 3, 64, 64, 7, 2, 3)
for channels, side in [(64, 16), (128, 8), (256, 4), (512, 2)]:
    add_convolution(f"resnet/3x3_{channels}", 8, channels, channels, side, 3, 1, 1)


@row("softmax/128x1000", "none")
def softmax():
    x = torch.randn(128, 1000)
    return lambda: torch.softmax(x, 1)


@row("cross_entropy/128x1000/backward", "forward + backward")
def cross_entropy():
    x, target = torch.randn(128, 1000, requires_grad=True), torch.randint(0, 1000, (128,))
    return lambda: gradients(F.cross_entropy(x, target), [x])


@row("adam/25M", "none")
def adam():
    x = torch.randn(25_000_000, requires_grad=True)
    x.grad = torch.randn(25_000_000)
    return torch.optim.Adam([x], lr=1e-3).step


@row("lstm/35x20/128-256x2/backward", "forward + backward")
def lstm():
    layer, x = nn.LSTM(128, 256, 2), torch.randn(35, 20, 128, requires_grad=True)
    inputs = [x, *layer.parameters()]
    return lambda: gradients(layer(x)[0].sum(), inputs)


@row("attention/8x1024x64", "forward + backward")
def attention():
    """Composed of operations: torch._scaled_dot_product_attention of 1.13 is private, uses the same ones, and is no faster."""
    q, k, v = (torch.randn(8, 1024, 64, requires_grad=True) for _ in range(3))
    later, g = torch.full((1024, 1024), -torch.inf).triu(1), torch.ones(8, 1024, 64)

    def work():
        weights = torch.softmax(torch.baddbmm(later, q, k.transpose(-2, -1), alpha=1 / 8), -1)
        return gradients(torch.bmm(weights, v), [q, k, v], g)

    return work


def add_bags(gradient, sparse):
    @row(f"embedding_bag/512x20/{gradient}", "forward + backward")
    def prepare():
        table, index = torch.randn(10_000, 64, requires_grad=True), torch.randint(0, 10_000, (512, 20))
        g = torch.ones(512, 64)
        return lambda: gradients(F.embedding_bag(index, table, mode="sum", sparse=sparse), [table], g)


add_bags("dense", False)
add_bags("sparse", True)


@row("embedding_bag/512x20/sparse/step", "training step")
def bags_step():
    table, g = torch.randn(10_000, 64, requires_grad=True), torch.ones(512, 64)
    batches = itertools.cycle([torch.randint(0, 10_000, (512, 20)) for _ in range(4)])
    optimizer = torch.optim.SGD([table], lr=1e-3)

    def work():
        optimizer.zero_grad(set_to_none=True)
        F.embedding_bag(next(batches), table, mode="sum", sparse=True).backward(g)
        optimizer.step()

    return work


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


class ResNet50(nn.Sequential):
    def __init__(self):
        layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
        inputs = 64
        for stage, blocks in enumerate([3, 4, 6, 3]):
            for i in range(blocks):
                layers.append(Bottleneck(inputs, 64 << stage, 2 if i == 0 and stage > 0 else 1))
                inputs = 4 * 64 << stage
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


def add_training_step(name, make, images, classes, device="cpu"):
    @row(name, "training step")
    def prepare():
        model = make().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        x, target = torch.randn(*images, device=device), torch.randint(0, classes, images[:1], device=device)

        def work():
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), target).backward()
            optimizer.step()

        return work


add_training_step("train/mnist/32x1x28x28", MnistNet, (32, 1, 28, 28), 10)
add_training_step("train/resnet50/8x3x64x64", ResNet50, (8, 3, 64, 64), 1000)


def gpu_operation(name, f, *shapes):
    @row(f"gpu/{name}", "none")
    def prepare():
        x = [torch.randn(*shape, device="cuda") for shape in shapes]
        return lambda: f(*x)


class Perceptron(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))


def add_gpu_rows():
    """On the first GPU; without TF32, as Troupe."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    square = (4096, 4096)
    for size, elements in [("4B", 1), ("4MB", 1 << 20), ("400MB", 100 << 20)]:
        gpu_operation(f"add_number/{size}", lambda x: x + 1.0, (elements,))
    gpu_operation("add/400MB", lambda x, y: x + y, (100 << 20,), (100 << 20,))
    gpu_operation("add_row/4096x4096", lambda x, y: x + y, square, (4096,))
    gpu_operation("tanh/64MB", torch.tanh, square)
    gpu_operation("transpose/4096x4096", lambda x: x.t().contiguous(), square)
    gpu_operation("sum/400MB", torch.sum, (100 << 20,))
    gpu_operation("sum/rows/4096x4096", lambda x: x.sum(1), square)
    gpu_operation("sum/columns/4096x4096", lambda x: x.sum(0), square)
    gpu_operation("softmax/4096x4096", lambda x: x.softmax(1), square)
    gpu_operation("layer_norm/4096x1024", lambda x, w, b: F.layer_norm(x, (1024,), w, b), (4096, 1024), (1024,), (1024,))
    gpu_operation("sgemm/4096", torch.matmul, square, square)
    gpu_operation("conv2d/32x64x56", lambda x, w: F.conv2d(x, w, padding=1), (32, 64, 56, 56), (64, 64, 3, 3))
    gpu_operation("cumsum/4096x4096", lambda x: x.cumsum(1), square)
    gpu_operation("sort/4M", lambda x: x.sort()[0], (1 << 22,))

    @row("gpu/embedding/100000x64/65536", "none")
    def embedding():
        table, index = torch.randn(100000, 64, device="cuda"), torch.randint(0, 100000, (65536,), device="cuda")
        return lambda: F.embedding(index, table)

    @row("gpu/cross_entropy/4096x1000/backward", "forward + backward")
    def loss():
        x = torch.randn(4096, 1000, device="cuda", requires_grad=True)
        target = torch.randint(0, 1000, (4096,), device="cuda")
        return lambda: gradients(F.cross_entropy(x, target), x)

    add_training_step("gpu/train/perceptron/256x1024", Perceptron, (256, 1024), 1024, "cuda")
    add_training_step("gpu/train/mnist/256x1x28x28", MnistNet, (256, 1, 28, 28), 10, "cuda")
    add_training_step("gpu/train/resnet50/32x3x224x224", ResNet50, (32, 3, 224, 224), 1000, "cuda")


if torch.cuda.is_available():
    add_gpu_rows()


def seconds_of(work, times):
    """A GPU works on when the last operation has returned: its rows end when it has ended."""
    begin = time.perf_counter()
    for _ in range(times):
        work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main():
    print(*rows, flush=True)
    current, work = None, None
    for line in sys.stdin:
        name, times = line.split()
        if name != current:
            work = None  # before the next operands are made
            current, work = name, rows[name][1]()
        if times == "-":
            print(rows[name][0], flush=True)
        elif rows[name][0] == "none":
            with torch.no_grad():
                print(f"{seconds_of(work, int(times)):.9f}", flush=True)
        else:
            print(f"{seconds_of(work, int(times)):.9f}", flush=True)


main()
