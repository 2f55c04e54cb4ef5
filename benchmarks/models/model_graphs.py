#!/usr/bin/env python3
"""Whole models as the graphs that a framework would give to hipDNN, one for each fused layer.

    model_graphs.py --save DIRECTORY [MODEL...]

writes them as JSON, for kiln compile, bench, tune and explain. Needs Python alone."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
from graph_text import GraphText  # noqa: E402

Shape = tuple[list[int], list[int]]  # dims and strides


@dataclass(frozen=True)
class Layer:
    """A graph. Its inputs are values of the model, in the order of `uids`."""

    name: str
    text: str
    uids: list[int]
    inputs: list[str]
    out_uid: int
    output: str


@dataclass(frozen=True)
class View:
    """Part of a value, seen with another shape."""

    source: str
    output: str
    shape: Shape
    offset: int  # in elements


@dataclass
class Model:
    name: str
    dtype: str
    output: str = ""
    steps: list[Layer | View] = field(default_factory=list)
    shapes: dict[str, Shape] = field(default_factory=dict)  # of inputs, parameters and results
    inputs: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)

    def input(self, name: str, dims: list[int], strides: list[int] | None = None) -> str:
        self.shapes[name] = (dims, strides or packed(dims))
        self.inputs.append(name)
        return name

    def parameter(self, name: str, dims: list[int], strides: list[int] | None = None) -> str:
        self.shapes[name] = (dims, strides or packed(dims))
        self.parameters.append(name)
        return name

    def view(self, source: str, name: str, shape: Shape, offset: int = 0) -> str:
        self.shapes[name] = shape
        self.steps.append(View(source, name, shape, offset))
        return name

    @property
    def layers(self) -> list[Layer]:
        return [step for step in self.steps if isinstance(step, Layer)]


class LayerText(GraphText):
    """The graph of a layer: reads values of a model, and writes one."""

    def __init__(self, model: Model, name: str) -> None:
        super().__init__(model.dtype, f"{model.name}_{name}")
        self.model = model
        self.layer = name
        self.uids: dict[str, int] = {}

    def value(self, name: str) -> int:
        if name not in self.uids:
            self.uids[name] = self.tensor(*self.model.shapes[name])
        return self.uids[name]

    def between(self, shape: Shape) -> int:
        return self.tensor(*shape, virtual=True)

    def constant(self, value: float, rank: int) -> int:
        uid = self.tensor([1] * rank, [1] * rank)
        self.tensors[-1].update(data_type="FLOAT", value_type="Float32Value", value={"value": value})
        return uid

    def finish(self, shape: Shape, write: Callable[[int], None]) -> str:
        """The value that `write` makes nodes for, given its uid."""
        out = self.tensor(*shape)
        write(out)
        self.model.shapes[self.layer] = shape
        self.model.steps.append(Layer(self.layer, self.text(), list(self.uids.values()),
                                      list(self.uids), out, self.layer))
        self.model.output = self.layer
        return self.layer


def packed(dims: list[int]) -> list[int]:
    return [math.prod(dims[i + 1:]) for i in range(len(dims))]


def channels_last(dims: list[int]) -> list[int]:
    _, channels, height, width = dims
    return [channels * height * width, 1, channels * width, channels]


# ---- ResNet-50, for inference: batch norms are folded into weights and biases ----

# Channels inside, channels of the result, blocks, stride of the first one.
STAGES = [(64, 256, 3, 1), (128, 512, 4, 2), (256, 1024, 6, 2), (512, 2048, 3, 2)]
CLASSES = 1000


def convolution(model: Model, name: str, x: str, filters: int, window: int, stride: int = 1,
                residual: str | None = None, has_relu: bool = True) -> str:
    graph = LayerText(model, name)
    batch, channels, height, width = model.shapes[x][0]
    padding = window // 2
    weights = [filters, channels, window, window]
    w = model.parameter(f"{name}.weight", weights, channels_last(weights))
    b = model.parameter(f"{name}.bias", [1, filters, 1, 1], [filters, 1, filters, filters])
    dims = [batch, filters, *((size + 2 * padding - window) // stride + 1 for size in (height, width))]
    shape = (dims, channels_last(dims))

    def write(out: int) -> None:
        value = graph.between(shape)
        graph.node("ConvolutionFwdAttributes", x_tensor_uid=graph.value(x),
                   w_tensor_uid=graph.value(w), y_tensor_uid=value, pre_padding=[padding] * 2,
                   post_padding=[padding] * 2, stride=[stride] * 2, dilation=[1, 1],
                   conv_mode="CROSS_CORRELATION")
        rest = [("ADD", b)] + ([("ADD", residual)] if residual else [])
        operations = [*rest, *([("RELU_FWD", None)] if has_relu else [])]
        for i, (operation, operand) in enumerate(operations):
            result = out if i + 1 == len(operations) else graph.between(shape)
            operands = [value] if operand is None else [value, graph.value(operand)]
            graph.pointwise(operation, result, *operands)
            value = result

    return graph.finish(shape, write)


def pooling(model: Model, name: str, x: str, mode: str, window: int, stride: int,
            padding: int) -> str:
    graph = LayerText(model, name)
    batch, channels, height, width = model.shapes[x][0]
    dims = [batch, channels, *((size + 2 * padding - window) // stride + 1 for size in (height, width))]
    shape = (dims, channels_last(dims))
    return graph.finish(shape, lambda out: graph.node(
        "ResampleFwdAttributes", x_tensor_uid=graph.value(x), y_tensor_uid=out,
        window=[window] * 2, stride=[stride] * 2, pre_padding=[padding] * 2,
        post_padding=[padding] * 2, resample_mode=mode,
        padding_mode="NEG_INF_PAD" if mode == "MAXPOOL" else "ZERO_PAD"))


def resnet50(batch: int = 64) -> Model:
    model = Model("resnet50", "HALF")
    dims = [batch, 3, 224, 224]
    x = convolution(model, "stem", model.input("image", dims, channels_last(dims)), 64, 7, 2)
    x = pooling(model, "maxpool", x, "MAXPOOL", 3, 2, 1)
    for stage, (inside, filters, blocks, stride) in enumerate(STAGES):
        for block in range(blocks):
            name = f"stage{stage + 1}.{block}"
            step = stride if block == 0 else 1
            residual = x
            if block == 0:
                residual = convolution(model, f"{name}.shortcut", x, filters, 1, step, has_relu=False)
            y = convolution(model, f"{name}.reduce", x, inside, 1)
            y = convolution(model, f"{name}.spatial", y, inside, 3, step)
            x = convolution(model, f"{name}.expand", y, filters, 1, residual=residual)
    x = pooling(model, "avgpool", x, "AVGPOOL_INCLUDE_PADDING", 7, 7, 0)
    channels = model.shapes[x][0][1]
    x = model.view(x, "features", ([batch, channels], [channels, 1]))
    product(model, "classifier", x, CLASSES, has_bias=True)
    return model


# ---- a block of Llama 3 8B, without rotation of positions ----

HIDDEN, INNER, HEADS, KEY_HEADS, HEAD_SIZE = 4096, 14336, 32, 8, 128
EPSILON = 1e-5


def product(model: Model, name: str, x: str, features: int, residual: str | None = None,
            has_bias: bool = False) -> str:
    graph = LayerText(model, name)
    rows, k = model.shapes[x][0]
    w = model.parameter(f"{name}.weight", [k, features], [1, k])
    shape = ([rows, features], [features, 1])
    added = residual
    if has_bias:
        added = model.parameter(f"{name}.bias", [1, features])

    def write(out: int) -> None:
        value = graph.between(shape) if added else out
        graph.node("MatmulAttributes", a_tensor_uid=graph.value(x), b_tensor_uid=graph.value(w),
                   c_tensor_uid=value)
        if added:
            graph.pointwise("ADD", out, value, graph.value(added))

    return graph.finish(shape, write)


def gated(model: Model, name: str, x: str, features: int) -> str:
    graph = LayerText(model, name)
    rows, k = model.shapes[x][0]
    weights = [model.parameter(f"{name}.{part}", [k, features], [1, k]) for part in ("gate", "up")]
    shape = ([rows, features], [features, 1])

    def write(out: int) -> None:
        gate, up, activated = (graph.between(shape) for _ in range(3))
        for w, result in zip(weights, (gate, up)):
            graph.node("MatmulAttributes", a_tensor_uid=graph.value(x), b_tensor_uid=graph.value(w),
                       c_tensor_uid=result)
        graph.pointwise("SWISH_FWD", activated, gate)
        graph.pointwise("MUL", out, activated, up)

    return graph.finish(shape, write)


def rms_norm(model: Model, name: str, x: str) -> str:
    graph = LayerText(model, name)
    shape = model.shapes[x]
    scale = model.parameter(f"{name}.weight", [1, shape[0][1]])
    return graph.finish(shape, lambda out: graph.node(
        "RMSNormAttributes", x_tensor_uid=graph.value(x), scale_tensor_uid=graph.value(scale),
        epsilon_tensor_uid=graph.constant(EPSILON, 2), y_tensor_uid=out,
        forward_phase="INFERENCE"))


def attention(model: Model, name: str, q: str, k: str, v: str, shape: Shape,
              is_causal: bool) -> str:
    graph = LayerText(model, name)
    return graph.finish(shape, lambda out: graph.node(
        "SdpaAttributes", q_tensor_uid=graph.value(q), k_tensor_uid=graph.value(k),
        v_tensor_uid=graph.value(v), o_tensor_uid=out, causal_mask=is_causal,
        attn_scale_value=HEAD_SIZE ** -0.5))


def llama_block(name: str, batch: int, tokens: int, cached: int = 0) -> Model:
    """With `cached` keys per sequence, attention reads the cache alone: what writes to it is no
    graph of hipDNN."""
    model = Model(name, "BFLOAT16")
    rows = batch * tokens
    x = model.input("x", [rows, HIDDEN])
    normed = rms_norm(model, "norm1", x)
    width = (HEADS + 2 * KEY_HEADS) * HEAD_SIZE
    qkv = product(model, "qkv", normed, width)

    def heads_of(part: str, count: int, offset: int) -> str:
        return model.view(qkv, part, ([batch, count, tokens, HEAD_SIZE],
                                      [tokens * width, HEAD_SIZE, width, 1]), offset)

    q = heads_of("q", HEADS, 0)
    if cached:
        k, v = (model.input(part, [batch, KEY_HEADS, cached, HEAD_SIZE]) for part in "kv")
    else:
        k = heads_of("k", KEY_HEADS, HEADS * HEAD_SIZE)
        v = heads_of("v", KEY_HEADS, (HEADS + KEY_HEADS) * HEAD_SIZE)
    o = attention(model, "attention", q, k, v,
                  ([batch, HEADS, tokens, HEAD_SIZE], [tokens * HIDDEN, HEAD_SIZE, HIDDEN, 1]),
                  is_causal=not cached)
    o = model.view(o, "heads", ([rows, HIDDEN], [HIDDEN, 1]))
    x = product(model, "projection", o, HIDDEN, residual=x)
    inner = gated(model, "gated", rms_norm(model, "norm2", x), INNER)
    product(model, "down", inner, HIDDEN, residual=x)
    return model


MODELS: dict[str, Callable[[], Model]] = {
    "resnet50": resnet50,
    "llama-prefill": lambda: llama_block("llama-prefill", 1, 2048),
    "llama-decode-1": lambda: llama_block("llama-decode-1", 1, 1, 4096),
    "llama-decode-16": lambda: llama_block("llama-decode-16", 16, 1, 4096),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, required=True, help="directory of the JSON files")
    parser.add_argument("models", nargs="*", help=f"any of {', '.join(MODELS)}; default: all")
    arguments = parser.parse_args()
    unknown = set(arguments.models) - set(MODELS)
    if unknown:
        parser.error(f"there is no model '{min(unknown)}'; there are {', '.join(MODELS)}")
    arguments.save.mkdir(parents=True, exist_ok=True)
    for name in arguments.models or MODELS:
        for layer in MODELS[name]().layers:
            path = arguments.save / f"{name}_{layer.name}.json"
            path.write_text(layer.text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
