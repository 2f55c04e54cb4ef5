"""Kiln's plans and functions of PyTorch in one process: both replayed from CUDA graphs in turns, over
inputs that rotate past the second-level cache, so that what a launch costs the host does not count."""

from __future__ import annotations

import argparse
import ctypes
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

CACHES_OF_ROTATION = 3
MAX_SETS = 64
SAMPLE_S = 4e-3
# As enum kiln_contraction_form counts them.
SCHEDULES = ["any", "plain", "pingpong", "streamed", "specialized"]


class Binding(ctypes.Structure):
    _fields_ = [("uid", ctypes.c_int64), ("pointer", ctypes.c_void_p)]


def numbers(text: str) -> list[int]:
    """"128x64" or "128x64x32", the third 0 where it is left out."""
    values = [int(part) for part in text.split("x")]
    if len(values) not in (2, 3) or min(values) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is neither MxN nor MxNxK")
    return [*values, 0][:3]


class KilnPlans:
    def __init__(self, path: str, schedule: str, tile: list[int], waves: list[int]) -> None:
        self.library = ctypes.CDLL(path)
        if any(waves):
            waves = [*waves[:2], max(waves[2], 1)]
        values = [SCHEDULES.index(schedule), *tile, *waves]
        self.library.kiln_peer_force((ctypes.c_uint32 * len(values))(*values))
        self.library.kiln_peer_plan.restype = ctypes.c_void_p
        self.library.kiln_peer_plan.argtypes = [ctypes.c_char_p]
        self.library.kiln_peer_workspace_bytes.restype = ctypes.c_uint64
        self.library.kiln_peer_workspace_bytes.argtypes = [ctypes.c_void_p]
        self.library.kiln_peer_kernel_count.argtypes = [ctypes.c_void_p]
        self.library.kiln_peer_execute.argtypes = [ctypes.c_void_p, ctypes.c_void_p,
                                                   ctypes.c_void_p, ctypes.POINTER(Binding),
                                                   ctypes.c_uint32]

    def function(self, name: str, graph: tuple[str, list[int], int],
                 make_output: Callable[[], torch.Tensor]
                 ) -> tuple[Callable[..., torch.Tensor], int]:
        """Like torch's, and the number of kernels. Of the graph: text, uids of the inputs in the
        order of the function's arguments, uid of the output."""
        text, uids, out_uid = graph
        run, kernels = self.functions(name, (text, uids, [out_uid]), lambda: [make_output()])
        return lambda *inputs: run(*inputs)[0], kernels

    def functions(self, name: str, graph: tuple[str, list[int], list[int]],
                  make_outputs: Callable[[], list[torch.Tensor]]
                  ) -> tuple[Callable[..., list[torch.Tensor]], int]:
        """The same of a graph with several outputs."""
        text, uids, out_uids = graph
        plan = self.library.kiln_peer_plan(text.encode())
        if not plan:
            raise RuntimeError(f"Kiln has no plan for {name}")
        bytes_needed = self.library.kiln_peer_workspace_bytes(plan)
        workspace = torch.empty(max(bytes_needed, 1), dtype=torch.uint8, device="cuda")

        def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
            outputs = make_outputs()
            tensors = [*zip(uids, inputs), *zip(out_uids, outputs)]
            bindings = (Binding * len(tensors))(*[(uid, t.data_ptr()) for uid, t in tensors])
            stream = torch.cuda.current_stream().cuda_stream
            if self.library.kiln_peer_execute(plan, stream, workspace.data_ptr(), bindings,
                                              len(tensors)) != 0:
                raise RuntimeError(f"Kiln failed to execute {name}")
            return outputs

        return run, self.library.kiln_peer_kernel_count(plan)


def largest_error(result: torch.Tensor, right: torch.Tensor) -> float:
    return float((result.float() - right).abs().max() / right.abs().max())


def capture(run: Callable[..., Any], sets: list[list[torch.Tensor]],
            count: int) -> torch.cuda.CUDAGraph:
    """`count` executions, over all sets in turn."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for inputs in sets[:2]:
            run(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            run(*sets[i % len(sets)])
    return graph


def replay_s(graph: torch.cuda.CUDAGraph) -> float:
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    graph.replay()
    last.record()
    last.synchronize()
    return float(first.elapsed_time(last)) * 1e-3


def bytes_of(tensors: list[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in tensors)


def times_in_turns(runs: Sequence[Callable[..., Any]], inputs: list[torch.Tensor],
                   make_set: Callable[[], list[torch.Tensor]], samples: int) -> list[float]:
    """Medians of the seconds that one execution of each takes."""
    cache = torch.cuda.get_device_properties(0).L2_cache_size
    set_bytes = bytes_of(inputs)
    sets = [inputs] + [make_set() for _ in range(
        min(MAX_SETS, max(2, math.ceil(CACHES_OF_ROTATION * cache / set_bytes))) - 1)]
    probe = replay_s(capture(runs[1], sets, 4)) / 4
    count = max(len(sets), min(256, math.ceil(SAMPLE_S / probe)))
    graphs = [capture(run, sets, count) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    for sample in range(samples + 2):
        for place in range(len(runs)):
            which = (sample + place) % len(runs)
            seconds = replay_s(graphs[which]) / count
            if sample >= 2:
                times[which].append(seconds)
    return [sorted(each)[len(each) // 2] for each in times]


def geometric_mean(ratios: list[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
