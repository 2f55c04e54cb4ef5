#!/usr/bin/env python3
"""Matrix products of Kiln beside PyTorch's: both in one process, taking turns, replayed from CUDA
graphs, so that what a launch costs the host does not count. README.md beside this file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from graph_text import GraphText
from taking_turns import (SCHEDULES, KilnPlans, bytes_of, geometric_mean, largest_error,
                          numbers, times_in_turns)

TOLERANCES = {torch.float16: 2e-2, torch.bfloat16: 6e-2}  # share of the largest value
NAMES = {torch.float16: "HALF", torch.bfloat16: "BFLOAT16"}


@dataclass(frozen=True)
class Case:
    """x of m x k times weights of n x k, as nn.Linear has them, or k x n."""

    kind: str  # "product", "gelu", "swiglu"
    m: int
    n: int
    k: int
    dtype: torch.dtype
    weights_along_k: bool = True

    @property
    def name(self) -> str:
        layout = "" if self.weights_along_k else " kxn"
        return f"{self.kind} {str(self.dtype)[6:]} {self.m}x{self.n}x{self.k}{layout}"

    @property
    def operations(self) -> int:
        return 2 * self.m * self.n * self.k * (2 if self.kind == "swiglu" else 1)


def graph_of(case: Case) -> tuple[str, list[int], int]:
    """Text, uids of the inputs in the order of the torch function's arguments, uid of the output."""
    graph = GraphText(NAMES[case.dtype])
    m, n, k = case.m, case.n, case.k
    weight_strides = [1, k] if case.weights_along_k else [n, 1]
    x = graph.tensor([m, k], [k, 1])
    w = graph.tensor([k, n], weight_strides)

    def product(weights: int, out: int) -> None:
        graph.node("MatmulAttributes", a_tensor_uid=x, b_tensor_uid=weights, c_tensor_uid=out)

    def between() -> int:
        return graph.tensor([m, n], [n, 1], virtual=True)

    if case.kind == "product":
        y = graph.tensor([m, n], [n, 1])
        product(w, y)
        return graph.text(), [x, w], y
    if case.kind == "gelu":
        bias = graph.tensor([1, n], [n, 1])
        p, s = between(), between()
        y = graph.tensor([m, n], [n, 1])
        product(w, p)
        graph.pointwise("ADD", s, p, bias)
        graph.pointwise("GELU_FWD", y, s)
        return graph.text(), [x, w, bias], y
    v = graph.tensor([k, n], weight_strides)
    p, q, s = between(), between(), between()
    y = graph.tensor([m, n], [n, 1])
    product(w, p)
    product(v, q)
    graph.pointwise("SWISH_FWD", s, p)
    graph.pointwise("MUL", y, s, q)
    return graph.text(), [x, w, v], y


def make_inputs(case: Case) -> list[torch.Tensor]:
    """Of the torch function; weights as n x k matrices, whatever their memory is."""

    def random(*dims: int) -> torch.Tensor:
        return (torch.rand(dims, device="cuda") * 2 - 1).to(case.dtype)

    def weights() -> torch.Tensor:
        return random(case.n, case.k) if case.weights_along_k else random(case.k, case.n).t()

    x = random(case.m, case.k)
    if case.kind == "product":
        return [x, weights()]
    if case.kind == "gelu":
        return [x, weights(), random(case.n)]
    return [x, weights(), weights()]


def torch_function(case: Case) -> Callable[..., torch.Tensor]:
    """Products alone are the library's; what is fused is compiled."""
    functions: dict[str, Callable[..., torch.Tensor]] = {
        "product": lambda x, w: F.linear(x, w),
        "gelu": lambda x, w, bias: F.gelu(F.linear(x, w, bias)),
        "swiglu": lambda x, w, v: F.silu(F.linear(x, w)) * F.linear(x, v),
    }
    function = functions[case.kind]
    return function if case.kind == "product" else torch.compile(function, dynamic=False)


def exact(case: Case, inputs: list[torch.Tensor]) -> torch.Tensor:
    x, w, *rest = (tensor.float() for tensor in inputs)
    if case.kind == "product":
        return x @ w.t()
    if case.kind == "gelu":
        return F.gelu(x @ w.t() + rest[0])
    return F.silu(x @ w.t()) * (x @ rest[0].t())


def measure(case: Case, kiln: KilnPlans, samples: int) -> dict[str, Any]:
    torch._dynamo.reset()
    own, kernels = kiln.function(
        case.name, graph_of(case),
        lambda: torch.empty(case.m, case.n, dtype=case.dtype, device="cuda"))
    peer = torch_function(case)
    inputs = make_inputs(case)
    right = exact(case, inputs)
    errors = [largest_error(run(*inputs), right) for run in (own, peer)]
    medians = times_in_turns((own, peer), inputs, lambda: make_inputs(case), samples)
    return {"case": case.name, "kernels": kernels, "kiln_s": medians[0], "torch_s": medians[1],
            "ratio": medians[1] / medians[0], "kiln_tflops": case.operations / medians[0] * 1e-12,
            "kiln_gb_s": bytes_of(inputs) / medians[0] * 1e-9, "errors": errors,
            "is_right": errors[0] <= TOLERANCES[case.dtype]}


# Sizes that are no multiples of a vector.
RAGGED = [(1023, 1537, 777), (2047, 4097, 1023), (4095, 4097, 4099), (33, 4097, 4097)]


def cases_of(name: str) -> list[Case]:
    half, bfloat = torch.float16, torch.bfloat16
    if name == "square":
        return [Case("product", s, s, s, dtype, along_k) for s in (2048, 4096, 8192)
                for dtype in (half, bfloat) for along_k in (True, False)]
    if name == "skinny":
        return [Case("product", m, n, k, half, along_k) for m in (1, 2, 4, 8, 16, 32, 64)
                for n, k in ((4096, 4096), (11008, 4096), (4096, 11008))
                for along_k in (True, False)]
    if name == "ragged":
        return [Case("product", m, n, k, dtype) for m, n, k in RAGGED for dtype in (half, bfloat)]
    sizes = (1024, 4096, 11008)
    return [Case(name, m, n, k, half) for m in (16, 64, 512, 2048) for n in sizes for k in sizes]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--schedule", choices=SCHEDULES, default="any",
                        help="how Kiln does all products, as `kiln bench --schedule`")
    parser.add_argument("--tile", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("--waves", type=numbers, default=[0, 0, 0], help="MxN[xK], likewise")
    parser.add_argument("sets", nargs="+", choices=["square", "skinny", "ragged", "gelu", "swiglu"])
    arguments = parser.parse_args()
    kiln = KilnPlans(arguments.library, arguments.schedule, arguments.tile, arguments.waves)
    results: list[dict[str, Any]] = []
    print(f"{'case':36} kernels  kiln us  torch us  ratio  TFLOP/s   GB/s  error")
    for name in arguments.sets:
        rows = []
        for case in cases_of(name):
            row = measure(case, kiln, arguments.samples)
            rows.append(row)
            print(f"{row['case']:36} {row['kernels']:7} {row['kiln_s'] * 1e6:8.1f} "
                  f"{row['torch_s'] * 1e6:9.1f} {row['ratio']:6.2f} {row['kiln_tflops']:8.0f} "
                  f"{row['kiln_gb_s']:6.0f}  {row['errors'][0]:.1e}"
                  f"{'' if row['is_right'] else ' WRONG'}", flush=True)
            torch.cuda.empty_cache()
        mean = geometric_mean([row["ratio"] for row in rows])
        print(f"{name}: geometric mean of the ratios {mean:.3f} "
              f"(above 1, Kiln is faster) over {len(rows)} cases", flush=True)
        results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0 if all(row["is_right"] for row in results) else 1


if __name__ == "__main__":
    sys.exit(main())
