#!/usr/bin/env python3
"""Attention of Kiln beside PyTorch's flash and cuDNN back ends, and torch.compile where scores are
changed: all in one process, taking turns, replayed from CUDA graphs. README.md beside this file."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from graph_text import GraphText
from taking_turns import (KilnPlans, bytes_of, geometric_mean, largest_error,
                          times_in_turns)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

TOLERANCE = 2e-2  # share of the largest value; bfloat16
TOKENS = 16384  # of a batch, where sequences are shorter
SOFT_CAP = 20.0


@dataclass(frozen=True)
class Case:
    kind: str  # "forward", "backward", "decode", "softcap", "alibi"
    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    size: int  # of a head
    is_causal: bool = False

    @property
    def name(self) -> str:
        length = f"{self.queries}" if self.queries == self.keys else f"{self.queries}x{self.keys}"
        return (f"{self.kind} {self.batch} x {self.heads}/{self.kv_heads} x {length} D {self.size}"
                f"{' causal' if self.is_causal else ''}")

    @property
    def q(self) -> list[int]:
        return [self.batch, self.heads, self.queries, self.size]

    @property
    def k(self) -> list[int]:
        return [self.batch, self.kv_heads, self.keys, self.size]

    @property
    def operations(self) -> float:
        forward = 4 * self.batch * self.heads * self.queries * self.keys * self.size
        return forward * (2.5 if self.kind == "backward" else 1) * (0.5 if self.is_causal else 1)


def packed(dims: list[int]) -> list[int]:
    return [math.prod(dims[i + 1:]) for i in range(len(dims))]


class AttentionGraph(GraphText):
    def __init__(self) -> None:
        super().__init__("BFLOAT16", "attention")

    def packed_tensor(self, dims: list[int], data_type: str = "", virtual: bool = False) -> int:
        uid = self.tensor(dims, packed(dims), virtual)
        if data_type:
            self.tensors[-1]["data_type"] = data_type
        return uid

    def constant(self, value: float) -> int:
        uid = self.packed_tensor([1, 1, 1, 1], "FLOAT")
        self.tensors[-1].update(value_type="Float32Value", value={"value": value})
        return uid


def forward_graph(case: Case) -> tuple[str, list[int], list[int]]:
    graph = AttentionGraph()
    q, k, v = (graph.packed_tensor(dims) for dims in (case.q, case.k, case.k))
    o = graph.packed_tensor(case.q)
    graph.node("SdpaAttributes", q_tensor_uid=q, k_tensor_uid=k, v_tensor_uid=v, o_tensor_uid=o,
               causal_mask=case.is_causal, attn_scale_value=case.size ** -0.5)
    return graph.text(), [q, k, v], [o]


def backward_graph(case: Case) -> tuple[str, list[int], list[int]]:
    graph = AttentionGraph()
    q, k, v = (graph.packed_tensor(dims) for dims in (case.q, case.k, case.k))
    o, do = (graph.packed_tensor(case.q) for _ in range(2))
    stats = graph.packed_tensor([*case.q[:3], 1], "FLOAT")
    dq, dk, dv = (graph.packed_tensor(dims) for dims in (case.q, case.k, case.k))
    graph.node("SdpaBackwardAttributes", q_tensor_uid=q, k_tensor_uid=k, v_tensor_uid=v,
               o_tensor_uid=o, do_tensor_uid=do, stats_tensor_uid=stats, dq_tensor_uid=dq,
               dk_tensor_uid=dk, dv_tensor_uid=dv, causal_mask=case.is_causal,
               attn_scale_value=case.size ** -0.5)
    return graph.text(), [q, k, v, o, do, stats], [dq, dk, dv]


def written_out_graph(case: Case) -> tuple[str, list[int], list[int]]:
    """The products, the scores and their softmax as nodes of their own."""
    graph = AttentionGraph()
    scores, row = [*case.q[:3], case.keys], [*case.q[:3], 1]
    q, k, v = (graph.packed_tensor(dims) for dims in (case.q, case.k, case.k))
    inputs = [q, k, v]
    graph.tensors[k - 1].update(dims=[*case.k[:2], case.size, case.keys],
                                strides=[*packed(case.k)[:2], 1, case.size])

    def virtual(dims: list[int]) -> int:
        return graph.packed_tensor(dims, virtual=True)

    def pointwise(operation: str, *operands: int) -> int:
        out = virtual(scores)
        graph.pointwise(operation, out, *operands)
        return out

    def reduction(mode: str, operand: int) -> int:
        out = virtual(row)
        graph.node("ReductionAttributes", mode=mode, in_tensor_uid=operand, out_tensor_uid=out)
        return out

    s = virtual(scores)
    graph.node("MatmulAttributes", a_tensor_uid=q, b_tensor_uid=k, c_tensor_uid=s)
    s = pointwise("MUL", s, graph.constant(1 / math.sqrt(case.size)))
    if case.kind == "softcap":
        s = pointwise("TANH_FWD", pointwise("MUL", s, graph.constant(1 / SOFT_CAP)))
        s = pointwise("MUL", s, graph.constant(SOFT_CAP))
    else:
        slopes = graph.packed_tensor([1, case.heads, 1, 1], "FLOAT")
        places = graph.packed_tensor([1, 1, 1, case.keys], "FLOAT")
        bias = virtual([1, case.heads, 1, case.keys])
        graph.pointwise("MUL", bias, slopes, places)
        s = pointwise("ADD", s, bias)
        inputs += [slopes, places]
    e = pointwise("EXP", pointwise("SUB", s, reduction("MAX_OP", s)))
    p = pointwise("DIV", e, reduction("ADD", e))
    o = graph.packed_tensor(case.q)
    graph.node("MatmulAttributes", a_tensor_uid=p, b_tensor_uid=v, c_tensor_uid=o)
    return graph.text(), inputs, [o]


def random(dims: list[int]) -> torch.Tensor:
    return torch.randn(dims, dtype=torch.bfloat16, device="cuda")


def alibi_slopes(heads: int) -> torch.Tensor:
    return torch.exp2(-8.0 * torch.arange(1, heads + 1, device="cuda") / heads)


def flash_forward(case: Case, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> Any:
    return torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, case.is_causal)


def repeated(case: Case, x: torch.Tensor) -> torch.Tensor:
    return x.repeat_interleave(case.heads // case.kv_heads, 1)


def make_inputs(case: Case) -> list[torch.Tensor]:
    q, k, v = random(case.q), random(case.k), random(case.k)
    if case.kind == "alibi":
        places = torch.arange(case.keys, device="cuda", dtype=torch.float)
        return [q, k, v, alibi_slopes(case.heads), places - (case.keys - 1)]
    if case.kind != "backward":
        return [q, k, v]
    o, statistics = flash_forward(case, q, repeated(case, k), repeated(case, v))[:2]
    return [q, k, v, o.contiguous(), random(case.q), statistics.contiguous()]


def by_back_end(case: Case, back_end: SDPBackend) -> Callable[..., Any]:
    def forward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(back_end):
            return F.scaled_dot_product_attention(q, k, v, is_causal=case.is_causal,
                                                  enable_gqa=case.heads != case.kv_heads)

    return forward


def flash_backward(case: Case) -> Callable[..., Any]:
    """Grouped heads: keys and values repeated, and their gradients added up, as autograd does it."""
    seed = torch.zeros(2, dtype=torch.uint64, device="cuda")
    none = torch.empty(0, dtype=torch.uint64, device="cuda")

    def backward(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, o: torch.Tensor,
                 do: torch.Tensor, statistics: torch.Tensor) -> Any:
        dq, dk, dv = torch.ops.aten._scaled_dot_product_flash_attention_backward(
            do, q, repeated(case, k), repeated(case, v), o, statistics, None, None, case.queries,
            case.keys, 0.0, case.is_causal, seed, none)
        if case.heads != case.kv_heads:
            shape = [case.batch, case.kv_heads, -1, case.keys, case.size]
            dk, dv = dk.view(shape).sum(2), dv.view(shape).sum(2)
        return dq, dk, dv

    return backward


def flex(case: Case) -> Callable[..., Any]:
    compiled = torch.compile(flex_attention, dynamic=False)

    def softcap(score: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return SOFT_CAP * torch.tanh(score / SOFT_CAP)

    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *more: torch.Tensor) -> torch.Tensor:
        def alibi(score: torch.Tensor, _b: torch.Tensor, h: torch.Tensor, _i: torch.Tensor,
                  j: torch.Tensor) -> torch.Tensor:
            return score + more[0][h] * (j - (case.keys - 1))

        result: torch.Tensor = compiled(q, k, v,
                                        score_mod=softcap if case.kind == "softcap" else alibi)
        return result

    return run


def exact(case: Case, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """Of the first of the batch, in float."""
    q, k, v = (x[:1].float().requires_grad_() for x in inputs[:3])
    scores = q @ repeated(case, k).transpose(2, 3) / math.sqrt(case.size)
    if case.kind == "softcap":
        scores = SOFT_CAP * torch.tanh(scores / SOFT_CAP)
    elif case.kind == "alibi":
        scores = scores + inputs[3].view(-1, 1, 1) * inputs[4]
    if case.is_causal:
        masked = torch.ones(case.queries, case.keys, dtype=torch.bool, device="cuda").triu(1)
        scores = scores.masked_fill(masked, -math.inf)
    o = scores.softmax(3) @ repeated(case, v)
    if case.kind == "backward":
        return list(torch.autograd.grad(o, (q, k, v), inputs[4][:1].float()))
    return [o.detach()]


def errors_of(results: Any, right: list[torch.Tensor]) -> float:
    results = [results] if isinstance(results, torch.Tensor) else results
    return max(largest_error(result[:1], each) for result, each in zip(results, right))


def peers_of(case: Case, kiln: KilnPlans) -> dict[str, Callable[..., Any]]:
    """What a case is measured beside; the first is what its ratio is against."""
    flash = {"flash": by_back_end(case, SDPBackend.FLASH_ATTENTION)}
    cudnn = {"cudnn": by_back_end(case, SDPBackend.CUDNN_ATTENTION)}
    if case.kind == "forward":
        return {**flash, **cudnn}
    if case.kind == "backward":
        return {"flash": flash_backward(case)}
    if case.kind == "decode":
        def copy(_q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            return torch.empty_like(k).copy_(v)

        return {"copy": copy, **flash}
    plain = kiln.functions("plain", forward_graph(replace(case, kind="forward")),
                           lambda: [torch.empty_like(random(case.q))])[0]
    return {"compiled": flex(case), "plain": lambda q, k, v, *_: plain(q, k, v)}


def measure(case: Case, kiln: KilnPlans, samples: int) -> dict[str, Any]:
    torch._dynamo.reset()
    graphs = {"forward": forward_graph, "decode": forward_graph, "backward": backward_graph}
    outputs = [case.q, case.k, case.k] if case.kind == "backward" else [case.q]
    started = time.monotonic()
    own, kernels = kiln.functions(
        case.name, graphs.get(case.kind, written_out_graph)(case),
        lambda: [torch.empty(dims, dtype=torch.bfloat16, device="cuda") for dims in outputs])
    compile_s = time.monotonic() - started
    inputs = make_inputs(case)
    right = exact(case, inputs)
    error = errors_of(own(*inputs), right)
    peers = {}
    for name, peer in peers_of(case, kiln).items():
        try:
            result = peer(*inputs)
        except RuntimeError as failure:
            print(f"  {name}: {' '.join(str(failure).split())[:120]}")
            continue
        peers[name] = peer
        if name not in ("copy", "plain") and errors_of(result, right) > TOLERANCE:
            print(f"  {name} is off by {errors_of(result, right):.1e}")
        del result
    del right
    medians = times_in_turns((own, *peers.values()), inputs, lambda: make_inputs(case), samples)
    times = dict(zip(peers, medians[1:]))
    return {"case": case.name, "kernels": kernels, "kiln_s": medians[0], "peers_s": times,
            "ratio": medians[1] / medians[0], "kiln_tflops": case.operations / medians[0] * 1e-12,
            "kiln_gb_s": bytes_of(inputs) / medians[0] * 1e-9, "error": error,
            "compile_s": compile_s, "is_right": error <= TOLERANCE}


def cases_of(name: str) -> list[Case]:
    if name == "decode":
        return [Case(name, batch, 32, 8, 1, 4096, 128) for batch in (1, 8, 32)]
    if name in ("softcap", "alibi"):
        return [Case(name, TOKENS // length, 32, 32, length, length, size)
                for size in (64, 128) for length in (1024, 4096)]
    return [Case(name, TOKENS // length, 32, kv_heads, length, length, size, is_causal)
            for size in (64, 128) for length in (512, 1024, 4096, 8192)
            for is_causal in (False, True) for kv_heads in (32, 8)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("sets", nargs="+",
                        choices=["forward", "backward", "decode", "softcap", "alibi"])
    arguments = parser.parse_args()
    kiln = KilnPlans(arguments.library, "any", [0, 0, 0], [0, 0, 0])
    results: list[dict[str, Any]] = []
    print(f"{'case':44} kernels  kiln us  ratio  TFLOP/s   GB/s  error  us of peers")
    for name in arguments.sets:
        rows = []
        for case in cases_of(name):
            if arguments.only not in case.name:
                continue
            try:
                row = measure(case, kiln, arguments.samples)
            except RuntimeError as error:
                print(f"{case.name:44} {' '.join(str(error).split())[:200]}", flush=True)
                results.append({"case": case.name, "is_right": False, "failure": str(error)})
                continue
            rows.append(row)
            peers = ", ".join(f"{peer} {s * 1e6:.1f}" for peer, s in row["peers_s"].items())
            print(f"{row['case']:44} {row['kernels']:7} {row['kiln_s'] * 1e6:8.1f} "
                  f"{row['ratio']:6.2f} {row['kiln_tflops']:8.0f} {row['kiln_gb_s']:6.0f}  "
                  f"{row['error']:.1e}{'' if row['is_right'] else ' WRONG'}  {peers}", flush=True)
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
