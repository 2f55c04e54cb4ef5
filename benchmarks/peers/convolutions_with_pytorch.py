#!/usr/bin/env python3
"""Convolutions of Kiln beside PyTorch's, channels last: both in one process, taking turns, replayed
from CUDA graphs, so that what a launch costs the host does not count. README.md beside this file."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from graph_text import GraphText
from taking_turns import (SCHEDULES, KilnPlans, bytes_of, geometric_mean, largest_error,
                          numbers, times_in_turns)

TOLERANCE = 2e-2  # share of the largest value; half


@dataclass(frozen=True)
class Case:
    kind: str  # "forward", "fused", "dgrad", "wgrad"
    batch: int
    channels: int
    image: int
    filters: int
    window: int
    stride: int
    groups: int = 1

    @property
    def padding(self) -> int:
        return self.window // 2

    @property
    def result(self) -> int:
        return (self.image + 2 * self.padding - self.window) // self.stride + 1

    @property
    def name(self) -> str:
        groups = f" groups {self.groups}" if self.groups > 1 else ""
        return (f"{self.kind} {self.image}: {self.channels}->{self.filters} "
                f"{self.window}x{self.window}/{self.stride}{groups}")

    @property
    def x(self) -> list[int]:
        return [self.batch, self.channels, self.image, self.image]

    @property
    def w(self) -> list[int]:
        return [self.filters, self.channels // self.groups, self.window, self.window]

    @property
    def y(self) -> list[int]:
        return [self.batch, self.filters, self.result, self.result]

    @property
    def output(self) -> list[int]:
        return self.x if self.kind == "dgrad" else self.w if self.kind == "wgrad" else self.y

    @property
    def operations(self) -> int:
        return (2 * self.batch * self.result ** 2 * self.filters
                * (self.channels // self.groups) * self.window ** 2)


def channels_last(dims: list[int]) -> list[int]:
    _, channels, height, width = dims
    return [channels * height * width, 1, channels * width, channels]


def graph_of(case: Case) -> tuple[str, list[int], int]:
    """Text, uids of the inputs in the order of the torch function's arguments, uid of the output."""
    graph = GraphText("HALF", "convolution")

    def tensor(dims: list[int], virtual: bool = False) -> int:
        return graph.tensor(dims, channels_last(dims), virtual)

    def convolution(kind: str, **operands: int) -> None:
        graph.node(f"Convolution{kind}Attributes", **operands, pre_padding=[case.padding] * 2,
                   post_padding=[case.padding] * 2, stride=[case.stride] * 2, dilation=[1, 1],
                   conv_mode="CROSS_CORRELATION")

    if case.kind == "dgrad":
        dy, w, dx = tensor(case.y), tensor(case.w), tensor(case.x)
        convolution("Bwd", dy_tensor_uid=dy, w_tensor_uid=w, dx_tensor_uid=dx)
        return graph.text(), [dy, w], dx
    if case.kind == "wgrad":
        dy, x, dw = tensor(case.y), tensor(case.x), tensor(case.w)
        convolution("Wrw", dy_tensor_uid=dy, x_tensor_uid=x, dw_tensor_uid=dw)
        return graph.text(), [dy, x], dw
    x, w = tensor(case.x), tensor(case.w)
    if case.kind == "forward":
        y = tensor(case.y)
        convolution("Fwd", x_tensor_uid=x, w_tensor_uid=w, y_tensor_uid=y)
        return graph.text(), [x, w], y
    bias, residual = tensor([1, case.filters, 1, 1]), tensor(case.y)
    of_window, biased, added = (tensor(case.y, virtual=True) for _ in range(3))
    y = tensor(case.y)
    convolution("Fwd", x_tensor_uid=x, w_tensor_uid=w, y_tensor_uid=of_window)
    graph.pointwise("ADD", biased, of_window, bias)
    graph.pointwise("ADD", added, biased, residual)
    graph.pointwise("RELU_FWD", y, added)
    return graph.text(), [x, w, bias, residual], y


def empty(dims: list[int]) -> torch.Tensor:
    return torch.empty_strided(dims, channels_last(dims), dtype=torch.half, device="cuda")


def make_inputs(case: Case) -> list[torch.Tensor]:
    def random(dims: list[int]) -> torch.Tensor:
        return empty(dims).uniform_(-1, 1)

    if case.kind == "dgrad":
        return [random(case.y), random(case.w)]
    if case.kind == "wgrad":
        return [random(case.y), random(case.x)]
    if case.kind == "forward":
        return [random(case.x), random(case.w)]
    bias = random([1, case.filters, 1, 1]).flatten()
    return [random(case.x), random(case.w), bias, random(case.y)]


def torch_function(case: Case) -> Callable[..., torch.Tensor]:
    def forward(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.conv2d(x, w, None, case.stride, case.padding, 1, case.groups)

    def fused(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor,
              residual: torch.Tensor) -> torch.Tensor:
        y = F.conv2d(x, w, bias, case.stride, case.padding, 1, case.groups)
        return torch.relu(y + residual)

    def gradient(dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, which: int) -> torch.Tensor:
        mask = [place == which for place in range(3)]
        result: torch.Tensor = torch.ops.aten.convolution_backward(
            dy, x, w, None, [case.stride] * 2, [case.padding] * 2, [1, 1], False, [0, 0],
            case.groups, mask)[which]
        return result

    if case.kind == "dgrad":
        x = empty(case.x)  # only what it looks like counts
        return lambda dy, w: gradient(dy, x.to(dy.dtype), w, 0)
    if case.kind == "wgrad":
        w = empty(case.w)
        return lambda dy, x: gradient(dy, x, w.to(dy.dtype), 1)
    return forward if case.kind == "forward" else fused


def measure(case: Case, kiln: KilnPlans, samples: int) -> dict[str, Any]:
    torch._dynamo.reset()
    started = time.monotonic()
    own, kernels = kiln.function(case.name, graph_of(case), lambda: empty(case.output))
    compile_s = time.monotonic() - started
    function = torch_function(case)
    peer = torch.compile(function, dynamic=False) if case.kind == "fused" else function
    inputs = make_inputs(case)
    torch.backends.cudnn.benchmark = False
    right = function(*(tensor.float() for tensor in inputs))
    torch.backends.cudnn.benchmark = True
    errors = [largest_error(run(*inputs), right) for run in (own, peer)]
    del right
    medians = times_in_turns((own, peer), inputs, lambda: make_inputs(case), samples)
    moved = bytes_of(inputs) + 2 * empty(case.output).numel()
    return {"case": case.name, "kernels": kernels, "kiln_s": medians[0], "torch_s": medians[1],
            "ratio": medians[1] / medians[0], "kiln_tflops": case.operations / medians[0] * 1e-12,
            "kiln_gb_s": moved / medians[0] * 1e-9, "errors": errors, "compile_s": compile_s,
            "is_right": errors[0] <= TOLERANCE}


# ResNet-50 as first published, with strides in the first convolution of a block: image, channels,
# filters, window, stride.
RESNET50 = [
    (224, 3, 64, 7, 2),
    (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
    (56, 256, 128, 1, 2), (28, 128, 128, 3, 1), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2),
    (28, 512, 128, 1, 1),
    (28, 512, 256, 1, 2), (14, 256, 256, 3, 1), (14, 256, 1024, 1, 1), (28, 512, 1024, 1, 2),
    (14, 1024, 256, 1, 1),
    (14, 1024, 512, 1, 2), (7, 512, 512, 3, 1), (7, 512, 2048, 1, 1), (14, 1024, 2048, 1, 2),
    (7, 2048, 512, 1, 1),
]  # fmt: skip
# Of later ones, which have them in the second.
STRIDED = [(56, 128, 128, 3, 2), (28, 256, 256, 3, 2), (14, 512, 512, 3, 2)]
# MobileNet-v2: image, channels, stride.
DEPTHWISE = [(112, 32, 1), (112, 96, 2), (56, 144, 1), (56, 144, 2), (28, 192, 1), (28, 192, 2),
             (14, 384, 1), (14, 576, 1), (14, 576, 2), (7, 960, 1)]  # fmt: skip


def cases_of(name: str, batch: int) -> list[Case]:
    if name == "depthwise":
        return [Case("forward", batch, channels, image, channels, 3, stride, channels)
                for image, channels, stride in DEPTHWISE]
    kind, _, strided = name.partition("-")
    return [Case(kind, batch, channels, image, filters, window, stride)
            for image, channels, filters, window, stride in (STRIDED if strided else RESNET50)]


def main() -> int:
    kinds = ["forward", "fused", "dgrad", "wgrad"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--schedule", choices=SCHEDULES, default="any",
                        help="how Kiln does all convolutions, as `kiln bench --schedule`")
    parser.add_argument("--tile", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("--waves", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("sets", nargs="+",
                        choices=[*kinds, *(f"{kind}-strided" for kind in kinds), "depthwise"])
    arguments = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    kiln = KilnPlans(arguments.library, arguments.schedule, arguments.tile, arguments.waves)
    results: list[dict[str, Any]] = []
    print(f"{'case':36} kernels  kiln us  torch us  ratio  TFLOP/s   GB/s  error")
    for name in arguments.sets:
        rows = []
        for case in cases_of(name, arguments.batch):
            try:
                row = measure(case, kiln, arguments.samples)
            except RuntimeError as error:
                print(f"{case.name:36} {' '.join(str(error).split())[:200]}", flush=True)
                results.append({"case": case.name, "is_right": False, "failure": str(error)})
                continue
            rows.append(row)
            print(f"{row['case']:36} {row['kernels']:7} {row['kiln_s'] * 1e6:8.1f} "
                  f"{row['torch_s'] * 1e6:9.1f} {row['ratio']:6.2f} {row['kiln_tflops']:8.0f} "
                  f"{row['kiln_gb_s']:6.0f}  {row['errors'][0]:.1e}"
                  f"{'' if row['is_right'] else ' WRONG'}", flush=True)
            torch.cuda.empty_cache()
        if rows:
            print(f"{name}: geometric mean of the ratios "
                  f"{geometric_mean([row['ratio'] for row in rows]):.3f} "
                  f"(above 1, Kiln is faster) over {len(rows)} cases", flush=True)
        results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0 if all(row["is_right"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
