#!/usr/bin/env python3
"""Pooling, block scales and grouped products of Kiln beside their ceilings: all in one process,
taking turns, replayed from CUDA graphs. README.md in this folder."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from graph_text import GraphText
from taking_turns import (SCHEDULES, KilnPlans, bytes_of, geometric_mean, largest_error, numbers,
                          times_in_turns)

BLOCK = 32
E8M0_BIAS = 127
FP4_MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
FP4_VALUES = FP4_MAGNITUDES + [-value for value in FP4_MAGNITUDES]
NAMES = {torch.float16: "HALF", torch.bfloat16: "BFLOAT16", torch.float32: "FLOAT"}

Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Case:
    """A graph with its ceiling: a copy that reads and writes `ceiling_bytes` in total, or the
    function `ceiling` of the same inputs."""
    name: str
    graph: tuple[str, list[int], list[int]]  # text, uids of inputs, uids of outputs
    make_inputs: Callable[[], Tensors]
    make_outputs: Callable[[], Tensors]
    right: Callable[[Tensors], torch.Tensor]  # in float, from the inputs
    decode: Callable[[Tensors], torch.Tensor]  # in float, from the outputs
    tolerance: float  # share of the largest value
    ceiling_bytes: int
    ceiling: Callable[..., Any] | None = None


def packed(dims: list[int]) -> list[int]:
    return [math.prod(dims[i + 1:]) for i in range(len(dims))]


def channels_last(dims: list[int]) -> list[int]:
    _, c, h, w = dims
    return [h * w * c, 1, w * c, c]


def random(*dims: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return (torch.rand(dims, device="cuda") * 2 - 1).to(dtype)


def random_bytes(*dims: int, low: int = 0, high: int = 256) -> torch.Tensor:
    return torch.randint(low, high, dims, device="cuda", dtype=torch.uint8)


class Graph(GraphText):
    def typed(self, data_type: str, dims: list[int], strides: list[int] | None = None,
              virtual: bool = False) -> int:
        uid = self.tensor(dims, packed(dims) if strides is None else strides, virtual)
        self.tensors[-1]["data_type"] = data_type
        return uid


# ---- pooling ----


def pooling(mode: str, dtype: torch.dtype, dims: list[int], window: int, stride: int, padding: int,
            is_channels_last: bool) -> Case:
    strides = channels_last if is_channels_last else packed
    size = [(n + 2 * padding - window) // stride + 1 for n in dims[2:]]
    result = [*dims[:2], *size]
    graph = Graph(NAMES[dtype], "pooling")
    x = graph.typed(NAMES[dtype], dims, strides(dims))
    y = graph.typed(NAMES[dtype], result, strides(result))
    graph.node("ResampleFwdAttributes", x_tensor_uid=x, y_tensor_uid=y, window=[window] * 2,
               stride=[stride] * 2, pre_padding=[padding] * 2, post_padding=[padding] * 2,
               resample_mode=mode, padding_mode="NEG_INF_PAD" if mode == "MAXPOOL" else "ZERO_PAD")
    layout = torch.channels_last if is_channels_last else torch.contiguous_format

    def right(inputs: Tensors) -> torch.Tensor:
        if mode == "MAXPOOL":
            return F.max_pool2d(inputs[0].float(), window, stride, padding)
        return F.avg_pool2d(inputs[0].float(), window, stride, padding,
                            count_include_pad=mode == "AVGPOOL_INCLUDE_PADDING")

    element_bytes = torch.empty(0, dtype=dtype).element_size()
    return Case(f"{mode.lower()} {window}/{stride} {'x'.join(map(str, dims))} "
                f"{NAMES[dtype].lower()} {'nhwc' if is_channels_last else 'nchw'}", (graph.text(), [x], [y]),
                lambda: [random(*dims, dtype=dtype).to(memory_format=layout)],
                lambda: [torch.empty(result, dtype=dtype, device="cuda", memory_format=layout)],
                right, lambda outputs: outputs[0].float(), 8e-3,
                (math.prod(dims) + math.prod(result)) * element_bytes)


def pooling_cases() -> Iterator[Case]:
    image = [64, 64, 112, 112]
    for is_last in (True, False):
        for dtype in (torch.float16, torch.float32):
            yield pooling("MAXPOOL", dtype, image, 3, 2, 1, is_last)
            yield pooling("AVGPOOL_EXCLUDE_PADDING", dtype, image, 3, 2, 1, is_last)
            yield pooling("AVGPOOL_INCLUDE_PADDING", dtype, image, 2, 2, 0, is_last)


# ---- block scales ----


def e8m0(codes: torch.Tensor) -> torch.Tensor:
    return torch.exp2(codes.float() - E8M0_BIAS)


def fp4(codes: torch.Tensor) -> torch.Tensor:
    """Two values of each byte, the low half first."""
    table = torch.tensor(FP4_VALUES, device="cuda")
    pairs = torch.stack([codes & 15, codes >> 4], dim=-1).reshape(*codes.shape[:-1], -1)
    return table[pairs.long()]


def quantize(dtype: torch.dtype, rows: int, columns: int) -> Case:
    graph = Graph(NAMES[dtype], "quantize")
    x = graph.typed(NAMES[dtype], [rows, columns])
    y = graph.typed("FP8_E4M3", [rows, columns])
    scale = graph.typed("FP8_E8M0", [rows, columns // BLOCK])
    graph.node("BlockScaleQuantizeAttributes", x_tensor_uid=x, y_tensor_uid=y,
               scale_tensor_uid=scale, block_size=BLOCK)

    def decode(outputs: Tensors) -> torch.Tensor:
        values = outputs[0].view(torch.float8_e4m3fn).float().reshape(rows, -1, BLOCK)
        return (values * e8m0(outputs[1])[..., None]).reshape(rows, columns)

    element_bytes = torch.empty(0, dtype=dtype).element_size()
    return Case(f"quantize {rows}x{columns} {NAMES[dtype].lower()} to e4m3",
                (graph.text(), [x], [y, scale]), lambda: [random(rows, columns, dtype=dtype)],
                lambda: [torch.empty(rows, columns, dtype=torch.uint8, device="cuda"),
                         torch.empty(rows, columns // BLOCK, dtype=torch.uint8, device="cuda")],
                lambda inputs: inputs[0].float(), decode, 7e-2,
                rows * columns * (element_bytes + 1) + rows * columns // BLOCK)


def dequantize(name: str, dtype: torch.dtype, rows: int, columns: int) -> Case:
    is_fp4 = name == "FP4_E2M1"
    graph = Graph(NAMES[dtype], "dequantize")
    x = graph.typed(name, [rows, columns])
    scale = graph.typed("FP8_E8M0", [rows, columns // BLOCK])
    y = graph.typed(NAMES[dtype], [rows, columns])
    graph.node("BlockScaleDequantizeAttributes", x_tensor_uid=x, scale_tensor_uid=scale,
               y_tensor_uid=y, block_size=[BLOCK])
    width = columns // 2 if is_fp4 else columns

    def make_inputs() -> Tensors:
        scales = random_bytes(rows, columns // BLOCK, low=E8M0_BIAS - 4, high=E8M0_BIAS + 4)
        if is_fp4:
            return [random_bytes(rows, width), scales]
        values = random(rows, width).to(torch.float8_e4m3fn).view(torch.uint8)
        return [values, scales]

    def right(inputs: Tensors) -> torch.Tensor:
        values = fp4(inputs[0]) if is_fp4 else inputs[0].view(torch.float8_e4m3fn).float()
        return (values.reshape(rows, -1, BLOCK) * e8m0(inputs[1])[..., None]).reshape(rows, columns)

    element_bytes = torch.empty(0, dtype=dtype).element_size()
    return Case(f"dequantize {rows}x{columns} {name.lower()} to {NAMES[dtype].lower()}",
                (graph.text(), [x, scale], [y]), make_inputs,
                lambda: [torch.empty(rows, columns, dtype=dtype, device="cuda")], right,
                lambda outputs: outputs[0].float(), 8e-3,
                rows * width + rows * columns // BLOCK + rows * columns * element_bytes)


def block_scale_cases() -> Iterator[Case]:
    for dtype in (torch.bfloat16, torch.float32):
        yield quantize(dtype, 8192, 8192)
    for name in ("FP8_E4M3", "FP4_E2M1"):
        yield dequantize(name, torch.bfloat16, 8192, 8192)


def weights(m: int, n: int, k: int) -> Case:
    """Half x MXFP4, whose weights lie along k."""
    graph = Graph("HALF", "mxfp4_weights")
    x = graph.typed("HALF", [m, k])
    w = graph.typed("FP4_E2M1", [k, n], [1, k])
    scale = graph.typed("FP8_E8M0", [k // BLOCK, n], [1, k // BLOCK])
    dequantized = graph.typed("HALF", [k, n], [1, k], virtual=True)
    y = graph.typed("HALF", [m, n])
    graph.node("BlockScaleDequantizeAttributes", x_tensor_uid=w, scale_tensor_uid=scale,
               y_tensor_uid=dequantized, block_size=[BLOCK, 1])
    graph.node("MatmulAttributes", a_tensor_uid=x, b_tensor_uid=dequantized, c_tensor_uid=y)

    def right(inputs: Tensors) -> torch.Tensor:
        values = fp4(inputs[1]).reshape(n, -1, BLOCK) * e8m0(inputs[2])[..., None]
        return inputs[0].float() @ values.reshape(n, k).half().float().t()

    return Case(f"mxfp4 weights {m}x{n}x{k}", (graph.text(), [x, w, scale], [y]),
                lambda: [random(m, k, dtype=torch.float16), random_bytes(n, k // 2),
                         random_bytes(n, k // BLOCK, low=E8M0_BIAS - 4, high=E8M0_BIAS + 4)],
                lambda: [torch.empty(m, n, dtype=torch.float16, device="cuda")], right,
                lambda outputs: outputs[0].float(), 5e-3, n * k // 2 + n * k // BLOCK)


def weight_cases() -> Iterator[Case]:
    for m in (1, 4, 16, 64):
        for n, k in ((4096, 4096), (14336, 4096), (4096, 14336)):
            yield weights(m, n, k)


# ---- grouped products ----


def grouped(experts: int, rows_each: int, n: int, k: int) -> Case:
    rows = experts * rows_each
    graph = Graph("BFLOAT16", "grouped")
    token = graph.typed("BFLOAT16", [1, rows, k])
    weight = graph.typed("BFLOAT16", [experts, k, n], [k * n, 1, k])
    offset = graph.typed("INT32", [experts, 1, 1])
    y = graph.typed("BFLOAT16", [1, rows, n])
    graph.node("MoeGroupedMatmulAttributes", token_tensor_uid=token, weight_tensor_uid=weight,
               first_token_offset_tensor_uid=offset, output_tensor_uid=y, mode="NONE", top_k=0)

    def make_inputs() -> Tensors:
        """Groups are as long as the name says in the mean.."""
        cuts = torch.randint(0, rows + 1, (experts - 1,), device="cuda").sort().values
        even = torch.arange(1, experts, device="cuda") * rows_each
        offsets = torch.cat([torch.zeros(1, dtype=torch.long, device="cuda"), (cuts + even) // 2])
        return [random(rows, k, dtype=torch.bfloat16), random(experts, n, k, dtype=torch.bfloat16),
                offsets.int()]

    def right(inputs: Tensors) -> torch.Tensor:
        ends = [*inputs[2].tolist(), rows]
        return torch.cat([inputs[0][ends[i]:ends[i + 1]].float() @ inputs[1][i].float().t()
                          for i in range(experts)])

    return Case(f"grouped {experts} x {rows_each} rows, {n}x{k}",
                (graph.text(), [token, weight, offset], [y]), make_inputs,
                lambda: [torch.empty(rows, n, dtype=torch.bfloat16, device="cuda")], right,
                lambda outputs: outputs[0].float(), 1e-2, 0,
                lambda tokens, weights, _: F.linear(tokens, weights[0]))


def grouped_cases() -> Iterator[Case]:
    for experts in (8, 64):
        for rows_each in (16, 128, 512, 2048):
            yield grouped(experts, rows_each, 4096, 2048)


# ---- measuring ----


def measure(case: Case, kiln: KilnPlans, samples: int) -> dict[str, Any]:
    own, kernels = kiln.functions(case.name, case.graph, case.make_outputs)
    ceiling = case.ceiling

    def make_set() -> Tensors:
        inputs = case.make_inputs()
        if ceiling is None:
            inputs.append(random_bytes(case.ceiling_bytes // 2))
        return inputs

    inputs = make_set()
    count = len(case.graph[1])
    error = largest_error(case.decode(own(*inputs[:count])), case.right(inputs[:count]))
    runs = (lambda *t: own(*t[:count]),
            ceiling if ceiling is not None else lambda *t: torch.empty_like(t[-1]).copy_(t[-1]))
    medians = times_in_turns(runs, inputs, make_set, samples)
    return {"case": case.name, "kernels": kernels, "kiln_s": medians[0], "ceiling_s": medians[1],
            "ratio": medians[1] / medians[0], "error": error, "is_right": error <= case.tolerance,
            "kiln_gb_s": bytes_of(inputs[:count]) / medians[0] * 1e-9}


SETS: dict[str, Callable[[], Iterator[Case]]] = {
    "pooling": pooling_cases, "blockscale": block_scale_cases, "weights": weight_cases,
    "grouped": grouped_cases,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    parser.add_argument("--schedule", choices=SCHEDULES, default="any",
                        help="how Kiln does all products, as `kiln bench --schedule`")
    parser.add_argument("--tile", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("--waves", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("sets", nargs="+", choices=sorted(SETS))
    arguments = parser.parse_args()
    kiln = KilnPlans(arguments.library, arguments.schedule, arguments.tile, arguments.waves)
    results: list[dict[str, Any]] = []
    failed = False
    print(f"{'case':52} kernels  kiln us  ceiling us  of ceiling  error")
    for name in arguments.sets:
        rows = []
        for case in SETS[name]():
            if arguments.only not in case.name:
                continue
            try:
                row = measure(case, kiln, arguments.samples)
            except RuntimeError as error:
                print(f"{case.name:52} FAILED: {error}", flush=True)
                failed = True
                continue
            rows.append(row)
            print(f"{row['case']:52} {row['kernels']:7} {row['kiln_s'] * 1e6:8.1f} "
                  f"{row['ceiling_s'] * 1e6:11.1f} {row['ratio']:11.2f}  {row['error']:.1e}"
                  f"{'' if row['is_right'] else ' WRONG'}", flush=True)
            torch.cuda.empty_cache()
        if rows:
            mean = geometric_mean([row["ratio"] for row in rows])
            print(f"{name}: geometric mean of the shares {mean:.3f} over {len(rows)} cases",
                  flush=True)
        results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0 if not failed and all(row["is_right"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
