#!/usr/bin/env python3
"""Whole models of Kiln next to torch.compile's: each is captured in a CUDA graph, and the replays take
turns in one process. README.md in this folder."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from model_graphs import EPSILON, HEAD_SIZE, HEADS, KEY_HEADS, MODELS, STAGES, Layer, Model, Shape
from taking_turns import KilnPlans, largest_error, times_in_turns

Values = dict[str, torch.Tensor]
TOLERANCES = {"HALF": 2e-2, "BFLOAT16": 4e-2}  # share of the largest value
DTYPES = {"HALF": torch.half, "BFLOAT16": torch.bfloat16}


def empty(shape: Shape, dtype: str) -> torch.Tensor:
    return torch.empty_strided(*shape, dtype=DTYPES[dtype], device="cuda")


def fan_in(name: str, dims: list[int]) -> int:
    """Elements that a weight sums; 1 for others."""
    if len(dims) == 4:
        return math.prod(dims[1:])
    return dims[0] if dims[0] > 1 else 1


def make_parameters(model: Model) -> Values:
    """Results stay near 1 in size. A norm's weight is 1."""
    values: Values = {}
    for name in model.parameters:
        dims, _ = model.shapes[name]
        tensor = empty(model.shapes[name], model.dtype)
        if name.startswith("norm"):
            tensor.fill_(1)
        elif name.endswith(".bias"):
            tensor.uniform_(-0.1, 0.1)
        else:
            tensor.normal_(0, fan_in(name, dims) ** -0.5)
        values[name] = tensor
    return values


def make_inputs(model: Model) -> list[torch.Tensor]:
    return [empty(model.shapes[name], model.dtype).normal_() for name in model.inputs]


# ---- the same in PyTorch ----


def torch_resnet50(values: Values, image: torch.Tensor) -> torch.Tensor:
    def convolution(name: str, x: torch.Tensor, stride: int = 1) -> torch.Tensor:
        weight = values[f"{name}.weight"]
        return F.conv2d(x, weight, values[f"{name}.bias"].flatten(), stride, weight.shape[2] // 2)

    x = F.max_pool2d(torch.relu(convolution("stem", image, 2)), 3, 2, 1)
    for stage, (_, _, blocks, stride) in enumerate(STAGES):
        for block in range(blocks):
            name = f"stage{stage + 1}.{block}"
            step = stride if block == 0 else 1
            residual = convolution(f"{name}.shortcut", x, step) if block == 0 else x
            y = torch.relu(convolution(f"{name}.reduce", x))
            y = torch.relu(convolution(f"{name}.spatial", y, step))
            x = torch.relu(convolution(f"{name}.expand", y) + residual)
    features = F.adaptive_avg_pool2d(x, 1).flatten(1)
    return F.linear(features, values["classifier.weight"].t(), values["classifier.bias"].flatten())


def torch_llama(values: Values, x: torch.Tensor, *cache: torch.Tensor) -> torch.Tensor:
    def linear(name: str, y: torch.Tensor) -> torch.Tensor:
        return F.linear(y, values[name].t())

    def norm(name: str, y: torch.Tensor) -> torch.Tensor:
        return F.rms_norm(y, (y.shape[-1],), values[f"{name}.weight"].flatten(), EPSILON)

    batch = cache[0].shape[0] if cache else 1
    qkv = linear("qkv.weight", norm("norm1", x)).view(batch, -1, HEADS + 2 * KEY_HEADS, HEAD_SIZE)
    q, k, v = (part.transpose(1, 2) for part in qkv.split([HEADS, KEY_HEADS, KEY_HEADS], 2))
    if cache:
        k, v = cache
    o = F.scaled_dot_product_attention(q, k, v, is_causal=not cache, enable_gqa=True)
    x = x + linear("projection.weight", o.transpose(1, 2).reshape(x.shape))
    y = norm("norm2", x)
    inner = F.silu(linear("gated.gate", y)) * linear("gated.up", y)
    return x + linear("down.weight", inner)


# ---- measuring ----


def kiln_function(kiln: KilnPlans, model: Model,
                  parameters: Values) -> tuple[Callable[..., torch.Tensor], int]:
    """The layers one after the other, and the number of their kernels."""
    runs: list[Callable[[Values], None]] = []
    kernels = 0
    for step in model.steps:
        if isinstance(step, Layer):
            function, count = kiln.function(
                step.name, (step.text, step.uids, step.out_uid),
                lambda step=step: empty(model.shapes[step.output], model.dtype))
            kernels += count

            def run_layer(values: Values, step: Layer = step,
                          function: Callable[..., torch.Tensor] = function) -> None:
                values[step.output] = function(*(values[name] for name in step.inputs))

            runs.append(run_layer)
        else:
            def view(values: Values, step: Any = step) -> None:
                values[step.output] = values[step.source].as_strided(*step.shape, step.offset)

            runs.append(view)

    def run(*inputs: torch.Tensor) -> torch.Tensor:
        values = parameters | dict(zip(model.inputs, inputs))
        for each in runs:
            each(values)
        return values[model.output]

    return run, kernels


def measure_layers(kiln: KilnPlans, model: Model, parameters: Values,
                   samples: int) -> list[dict[str, Any]]:
    """Each layer alone, on inputs that rotate past the cache."""
    rows = []
    for layer in model.layers:
        run, kernels = kiln.function(layer.name, (layer.text, layer.uids, layer.out_uid),
                                     lambda layer=layer: empty(model.shapes[layer.output], model.dtype))

        def make_set(layer: Layer = layer) -> list[torch.Tensor]:
            return [parameters[name] if name in parameters
                    else empty(model.shapes[name], model.dtype).normal_() for name in layer.inputs]

        seconds = times_in_turns((run, run), make_set(), make_set, samples)[0]
        rows.append({"layer": layer.name, "kernels": kernels, "kiln_s": seconds})
    return rows


def measure(name: str, kiln: KilnPlans, arguments: argparse.Namespace) -> dict[str, Any]:
    torch._dynamo.reset()
    model = MODELS[name]()
    parameters = make_parameters(model)
    own, kernels = kiln_function(kiln, model, parameters)
    function = torch_resnet50 if name == "resnet50" else torch_llama
    inputs = make_inputs(model)
    precise = {key: value.float() for key, value in parameters.items()}
    right = function(precise, *(value.float() for value in inputs))
    del precise
    compiled = torch.compile(lambda *values: function(parameters, *values), dynamic=False)
    errors = [largest_error(run(*inputs), right) for run in (own, compiled)]
    del right
    seconds = times_in_turns((own, compiled), inputs, lambda: make_inputs(model), arguments.samples)
    row = {"model": name, "layers": len(model.layers), "kernels": kernels, "kiln_s": seconds[0],
           "torch_s": seconds[1], "ratio": seconds[1] / seconds[0], "errors": errors,
           "is_right": errors[0] <= TOLERANCES[model.dtype]}
    if arguments.layers:
        row["each"] = measure_layers(kiln, model, parameters, arguments.samples)
    return row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="libkiln_plans.so of a build")
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--layers", action="store_true", help="also each layer of Kiln's alone")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("models", nargs="*", choices=[*MODELS, []], help="default: all")
    arguments = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    kiln = KilnPlans(arguments.library, "any", [0, 0, 0], [0, 0, 0])
    rows = []
    print(f"{'model':18} layers  kernels  kiln us  torch us  ratio  errors")
    for name in arguments.models or MODELS:
        with torch.no_grad():
            row = measure(name, kiln, arguments)
        rows.append(row)
        print(f"{name:18} {row['layers']:6} {row['kernels']:8} {row['kiln_s'] * 1e6:8.1f} "
              f"{row['torch_s'] * 1e6:9.1f} {row['ratio']:6.2f}  "
              f"{' '.join(f'{error:.1e}' for error in row['errors'])}"
              f"{'' if row['is_right'] else ' WRONG'}", flush=True)
        for each in row.get("each", []):
            print(f"  {each['layer']:24} {each['kernels']:3} {each['kiln_s'] * 1e6:8.1f}", flush=True)
        torch.cuda.empty_cache()
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return 0 if all(row["is_right"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
