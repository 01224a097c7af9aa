"""Creates cases of the reference suite: inputs, the results of torch, and their storage."""

import io
import pathlib
import zipfile
import zlib

import numpy
import torch

STEPS = 20  # of each optimizer

# Inputs: each is a function from a random generator to an array. Floating ones are rounded to f32, so that the same
# case can be run in f32 and in f64.


def normal(*shape):
    return lambda random: random.randn(*shape)


def uniform(*shape, low=0.0, high=1.0):
    return lambda random: random.uniform(low, high, shape)


def distinct(*shape):
    """Values far apart from each other: for max, sort and pooling, where a tie would have several gradients."""
    count = int(numpy.prod(shape))
    return lambda random: (random.permutation(count) - count / 2.0 + 0.25).reshape(shape) / 4.0


def integers(*shape, low=0, high):
    return lambda random: random.randint(low, high, shape).astype(numpy.int64)


def booleans(*shape):
    return lambda random: random.randint(0, 2, shape).astype(bool)


def values(*given, dtype=float):
    return lambda random: numpy.array(given, dtype=dtype)


class Group:
    """Cases that share a file, data/<name>.npz. Members are called "<op>/<number>/<array>"."""

    def __init__(self, name):
        self.name = name
        self.arrays = {}
        self.numbers = {}

    def case(self, op, function, inputs, /, grad=True, **options):
        """`function(*inputs, **options)` is torch's; the entry `op` must return the same. With grad, the gradients
        of all floating inputs must be the same too; or of the inputs that grad lists."""
        key, random = self._begin(op)
        tensors = self._put_inputs(key, [make(random) for make in inputs])
        for i, x in enumerate(tensors):
            x.requires_grad_(x.is_floating_point() and grad is not False and (grad is True or i in grad))
        self._put_options(key, options)
        self._put_results(key, random, function(*tensors, **options))
        self._put_gradients(key, tensors)

    def module(self, op, make, inputs, /, train=True, **options):
        """`make()` is a torch module whose parameters get random values. The entry must have the same parameter
        names, gradients and buffers as well."""
        key, random = self._begin(op)
        tensors = self._put_inputs(key, [x(random) for x in inputs])
        for x in tensors:
            x.requires_grad_(x.is_floating_point())
        module = make().double().train(train)
        for name, parameter in module.named_parameters():
            parameter.data = self._put_input(f"{key}/parameter.{name}", random.randn(*parameter.shape) * 0.5)
        for name, buffer in module.named_buffers():
            buffer.copy_(self._put_input(f"{key}/parameter.{name}", buffer.numpy()))
        self._put_options(key, dict(options, train=train))
        self._put_results(key, random, module(*tensors))
        self._put_gradients(key, tensors)
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                self._put(f"{key}/parameter_gradient.{name}", parameter.grad)
        for name, buffer in module.named_buffers():
            self._put(f"{key}/after.{name}", buffer)

    def optimizer(self, op, make, /, **options):
        """`make(parameters, **options)` is a torch optimizer. Inputs are two parameters and STEPS gradients for each;
        expected are their values after every step."""
        key, random = self._begin(op)
        shapes = [(3, 4), (5,)]
        tensors = self._put_inputs(key, [random.randn(*s) for s in shapes] + [random.randn(STEPS, *s) for s in shapes])
        parameters, gradients = tensors[:2], tensors[2:]
        # torch keeps numbers such as ASGD's rate in tensors of the default dtype.
        torch.set_default_dtype(torch.float64)
        rule = make([parameter.requires_grad_() for parameter in parameters], **options)
        values = [[] for _ in parameters]
        for step in range(STEPS):
            for parameter, gradient in zip(parameters, gradients):
                parameter.grad = gradient[step].clone()
            rule.step()
            for parameter, after in zip(parameters, values):
                after.append(parameter.detach().clone())
        torch.set_default_dtype(torch.float32)
        self._put_options(key, options)
        for i, after in enumerate(values):
            self._put(f"{key}/out{i}", torch.stack(after))

    def write(self, folder):
        """Equal cases give equal bytes: no dates. What NumPy adds for files of 4 GiB would be a tenth of this one."""
        path = pathlib.Path(folder) / f"{self.name}.npz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as file:
            for name, array in self.arrays.items():
                member = io.BytesIO()
                numpy.save(member, array)
                file.writestr(zipfile.ZipInfo(f"{name}.npy"), member.getvalue(), zipfile.ZIP_DEFLATED)
        print(f"{path.name}: {sum(self.numbers.values())} cases, {path.stat().st_size} bytes")

    def _begin(self, op):
        """The name of the next case of `op`, and a generator of its own: a new case changes no other op's."""
        self.numbers[op] = self.numbers.get(op, 0) + 1
        key = f"{op}/{self.numbers[op]}"
        return key, numpy.random.RandomState(zlib.crc32(key.encode()))

    def _put_inputs(self, key, arrays):
        return [self._put_input(f"{key}/in{i}", array) for i, array in enumerate(arrays)]

    def _put_input(self, name, array):
        """Stores the array, floating ones as f32, and returns it as torch computes with it: in f64."""
        array = numpy.array(array)
        if array.dtype.kind == "f":
            array = array.astype(numpy.float32)
        self.arrays[name] = array
        return torch.from_numpy(array.astype(numpy.float64) if array.dtype.kind == "f" else array.copy())

    def _put_results(self, key, random, results):
        """Stores the results, and runs them backward from random gradients."""
        roots, gradients = [], []
        for i, result in enumerate(results if isinstance(results, (list, tuple)) else [results]):
            self._put(f"{key}/out{i}", result)
            if result.requires_grad:
                roots.append(result)
                gradients.append(self._put_input(f"{key}/grad{i}", random.randn(*result.shape)).to(result.dtype))
        if roots:
            torch.autograd.backward(roots, gradients)

    def _put_gradients(self, key, tensors):
        for i, x in enumerate(tensors):
            if x.grad is not None:
                self._put(f"{key}/g{i}", x.grad)

    def _put_options(self, key, options):
        for name, option in options.items():
            if option is None:
                continue
            if isinstance(option, str):
                option = numpy.frombuffer(option.encode(), dtype=numpy.uint8)
            self.arrays[f"{key}/option.{name}"] = numpy.asarray(option)

    def _put(self, name, tensor):
        self.arrays[name] = tensor.detach().numpy()
