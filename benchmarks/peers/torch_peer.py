"""PyTorch's side: inputs, compiling, timing, and comparing results. Needs torch and its GPU."""

from __future__ import annotations

import ctypes
import importlib.util
import math
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch._dynamo

from graph_to_torch import TORCH_TYPES, Translation
from hipdnn_graph import Graph, Tensor

DEVICE = "cuda"  # also the name of AMD GPUs
CACHES_OF_ROTATION = 3
USUAL_CACHE_BYTES = 64 << 20  # where torch does not tell
MAX_SETS = 4096
WARM_UP_CALLS = 3
WARM_UP_S = 20e-3
SAMPLE_S = 2e-3
MAX_BATCH = 4096

IMPORTS = "import torch\nimport torch.nn.functional as F\nfrom math import inf, nan"

# Largest difference of two ways to compute the same, as a share of the largest value.
TOLERANCES = {"HALF": 1e-2, "BFLOAT16": 5e-2, "FLOAT": 2e-4, "DOUBLE": 1e-9}

Function = Callable[..., tuple[torch.Tensor, ...]]
Contestant = Callable[[int], object]  # called with a number that grows


def dtype_of(tensor: Tensor) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, TORCH_TYPES[tensor.dtype].removeprefix("torch."))
    return dtype


def make_function(translation: Translation, directory: Path) -> Function:
    """From a file in the directory: torch.compile looks at where functions come from."""
    path = directory / f"function_{len(list(directory.glob('*.py')))}.py"
    path.write_text(f"{IMPORTS}\n\n\n{translation.source}", encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Function = getattr(module, translation.function)
    return function


# ---- inputs ----


def memory_in_order(x: torch.Tensor, tensor: Tensor) -> torch.Tensor:
    """All of the tensor's memory, gaps between its elements included, in one dimension."""
    return x.as_strided((tensor.footprint,), (1,))


def _narrowest(graph: Graph) -> torch.dtype:
    """Values of all inputs are numbers of this type, so that parameters lose nothing when a peer
    wants them in another one."""
    types = {tensor.dtype for tensor in graph.inputs}
    if "BFLOAT16" in types:
        return torch.bfloat16
    return torch.float16 if "HALF" in types else torch.float32


def make_inputs(graph: Graph, translation: Translation) -> dict[int, torch.Tensor]:
    """By uid: random numbers. Their memory is filled, not their elements, which may share it."""
    narrowest, inputs = _narrowest(graph), {}
    for tensor in graph.inputs:
        values = torch.rand(tensor.footprint, device=DEVICE)
        values = values + 0.5 if tensor.uid in translation.positive else values * 2 - 1
        x = torch.empty_strided(tensor.dims, tensor.strides, dtype=dtype_of(tensor), device=DEVICE)
        memory_in_order(x, tensor).copy_(values.to(narrowest))
        inputs[tensor.uid] = x
    return inputs


def prepare(translation: Translation, inputs: dict[int, torch.Tensor]) -> list[torch.Tensor]:
    """The function's arguments."""
    return [eval(argument.prepare.format("x"), {"torch": torch, "x": inputs[argument.uid]})
            for argument in translation.arguments]


def rotation_of(set_bytes: int) -> int:
    """How many sets of so many bytes go through more than the caches hold."""
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    cache = getattr(properties, "L2_cache_size", 0) or USUAL_CACHE_BYTES
    return min(max(math.ceil(CACHES_OF_ROTATION * cache / max(set_bytes, 1)), 2), MAX_SETS)


def make_sets(graph: Graph, translation: Translation) -> list[list[torch.Tensor]]:
    """As many as the inputs alone need: outputs are the caching allocator's."""
    count = rotation_of(sum(tensor.fewest_bytes for tensor in graph.inputs))
    return [prepare(translation, make_inputs(graph, translation)) for _ in range(count)]


# ---- compiling and timing ----


def start_compiler(mode: str) -> None:
    """What only the first compilation of a process waits for."""
    x = torch.ones(64, 1024, device=DEVICE)
    compile_timed(lambda x: (torch.relu(x) + x.sum(dim=1, keepdim=True),), [x], mode)


def _timed_call(function: Function, arguments: list[torch.Tensor]) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    function(*arguments)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def compile_timed(function: Function, arguments: list[torch.Tensor], mode: str) \
        -> tuple[Function, float]:
    """The compiled function, and the seconds by which its first call takes longer than another."""
    torch._dynamo.reset()
    compiled: Function = torch.compile(function, mode=mode, fullgraph=True, dynamic=False)
    first = _timed_call(compiled, arguments)
    return compiled, max(first - _timed_call(compiled, arguments), 0.0)


def make_contestant(function: Function, sets: list[list[torch.Tensor]]) -> Contestant:
    return lambda turn: function(*sets[turn % len(sets)])


def make_copy(total_bytes: int) -> tuple[Contestant, int]:
    """y.copy_(x) that reads and writes about so many bytes in all, and how many it really does."""
    elements = max(total_bytes // 2 // 4, 1)
    pairs = [(torch.rand(elements, device=DEVICE), torch.zeros(elements, device=DEVICE))
             for _ in range(rotation_of(total_bytes))]

    def copy(turn: int) -> None:
        x, y = pairs[turn % len(pairs)]
        y.copy_(x)

    return copy, 2 * 4 * elements


class Timer:
    """Times contestants in turns by events of the device, as kiln bench does."""

    def __init__(self, contestants: dict[str, Contestant]) -> None:
        self.contestants = contestants
        self.events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self.turn = 0
        self.batches = {name: self._warm_up(run) for name, run in contestants.items()}

    def _next(self) -> int:
        self.turn += 1
        return self.turn

    def _time_batch(self, run: Contestant, batch: int) -> float:
        """Seconds of each of them. One more goes first, so that the device has work while the batch
        is being enqueued."""
        run(self._next())
        self.events[0].record()
        for _ in range(batch):
            run(self._next())
        self.events[1].record()
        self.events[1].synchronize()
        return float(self.events[0].elapsed_time(self.events[1])) * 1e-3 / batch

    def _warm_up(self, run: Contestant) -> int:
        """The number of executions that last a sample."""
        batch, calls, total, each = 1, 0, 0.0, 0.0
        while calls < WARM_UP_CALLS or total < WARM_UP_S:
            each = self._time_batch(run, batch)
            calls += batch
            total += each * batch
            batch = min(batch * 2, MAX_BATCH)
        return min(max(math.ceil(SAMPLE_S / max(each, 1e-9)), 1), MAX_BATCH)

    def measure(self, samples: int) -> dict[str, list[float]]:
        """Seconds, by contestant; every round begins with another one."""
        results: dict[str, list[float]] = {name: [] for name in self.contestants}
        names = list(self.contestants)
        for sample in range(samples):
            for place in range(len(names)):
                name = names[(sample + place) % len(names)]
                run = self.contestants[name]
                results[name].append(self._time_batch(run, self.batches[name]))
        return results


# ---- comparing ----


def largest_error(graph: Graph, translation: Translation, results: list[torch.Tensor],
                  expected: list[torch.Tensor]) -> tuple[float, bool]:
    """Over all outputs, the largest difference as a share of the largest value; whether every
    output is within its tolerance."""
    worst, is_fine = 0.0, True
    for uid, result, right in zip(translation.outputs, results, expected, strict=True):
        tensor = graph.tensors[uid]
        wide = torch.float64 if result.numel() <= 1 << 24 else torch.float32
        a, b = (x.reshape(tensor.dims).to(wide) for x in (result, right))
        scale = max(float(b.abs().max()), 1e-30)
        error = float((a - b).abs().max()) / scale
        # Operators of 16 bits may give and round what the graph declares wider.
        types = {tensor.dtype} | {t.dtype for t in graph.inputs}
        tolerance = max(TOLERANCES[dtype] for dtype in types)
        is_fine = is_fine and error <= tolerance  # false for NaN
        worst = error if not error <= worst else worst
    return worst, is_fine


def evaluate(translation: Translation, inputs: dict[int, torch.Tensor],
             directory: Path) -> list[torch.Tensor]:
    return list(make_function(translation, directory)(*prepare(translation, inputs)))


def memory_of(x: torch.Tensor, tensor: Tensor) -> bytes:
    """Of an input."""
    host = memory_in_order(x, tensor).cpu()
    return ctypes.string_at(host.data_ptr(), host.numel() * host.element_size())


def from_memory(memory: bytes, tensor: Tensor) -> torch.Tensor:
    flat = torch.frombuffer(bytearray(memory), dtype=dtype_of(tensor))
    return flat.as_strided(tensor.dims, tensor.strides).to(DEVICE)
