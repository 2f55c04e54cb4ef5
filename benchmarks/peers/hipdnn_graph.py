"""Reads the JSON of a hipDNN graph, as `kiln bench --save-graphs` writes it."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FLOAT_BITS = {"HALF": 16, "BFLOAT16": 16, "FLOAT": 32, "DOUBLE": 64}

# Kind of a node ("Attributes" left out) -> its operands that are results. Other kinds are not
# translated.
RESULTS: dict[str, tuple[str, ...]] = {
    "Pointwise": ("out_0",),
    "Reduction": ("out",),
    "Layernorm": ("y", "mean", "inv_variance"),
    "LayernormBackward": ("dx", "dscale", "dbias"),
    "RMSNorm": ("y", "inv_rms"),
    "Batchnorm": ("y", "mean", "inv_variance", "next_running_mean", "next_running_variance"),
    "BatchnormInference": ("y",),
    "BatchnormBackward": ("dx", "dscale", "dbias"),
}


class NotTranslated(Exception):
    """Names what of a graph has no translation."""


@dataclass(frozen=True)
class Tensor:
    uid: int
    name: str
    dtype: str  # as on the wire: "HALF"
    dims: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    is_virtual: bool
    constant: float | None

    @property
    def footprint(self) -> int:
        """Elements of its memory, gaps included."""
        return 1 + sum((dim - 1) * stride for dim, stride in zip(self.dims, self.strides))

    @property
    def fewest_bytes(self) -> int:
        """Every element once; elements may share memory, as along strides of 0."""
        elements = math.prod(dim for dim, stride in zip(self.dims, self.strides) if stride != 0)
        return min(elements, self.footprint) * FLOAT_BITS[self.dtype] // 8


@dataclass(frozen=True)
class Node:
    kind: str  # "Pointwise"
    attributes: dict[str, Any]

    def uid(self, operand: str) -> int | None:
        return self.attributes.get(f"{operand}_tensor_uid")

    @property
    def mode(self) -> str:
        return str(self.attributes.get("operation", self.attributes.get("mode", "")))

    def uids(self, results: bool) -> list[int]:
        """Of its results, or of its inputs."""
        suffix = "_tensor_uid"
        return [uid for key, uid in self.attributes.items() if key.endswith(suffix)
                and (key.removesuffix(suffix) in RESULTS[self.kind]) == results]


@dataclass
class Graph:
    name: str
    tensors: dict[int, Tensor]
    nodes: list[Node]
    producers: dict[int, Node] = field(init=False)
    uses: Counter[int] = field(init=False)  # how many operands of nodes a tensor is

    def __post_init__(self) -> None:
        self.producers = {uid: node for node in self.nodes for uid in node.uids(results=True)}
        self.uses = Counter(uid for node in self.nodes for uid in node.uids(results=False))

    def _in_memory(self, is_output: bool) -> list[Tensor]:
        return [t for t in self.tensors.values() if not t.is_virtual and t.constant is None
                and (t.uid in self.producers) == is_output]

    @property
    def inputs(self) -> list[Tensor]:
        return self._in_memory(is_output=False)

    @property
    def outputs(self) -> list[Tensor]:
        return self._in_memory(is_output=True)

    @property
    def largest(self) -> int:
        """Elements of the largest input or output."""
        return max(math.prod(t.dims) for t in self.inputs + self.outputs)

    @property
    def fewest_bytes(self) -> int:
        """Every input and output once, as Kiln counts them."""
        return sum(tensor.fewest_bytes for tensor in self.inputs + self.outputs)

    def reduced_axes(self, node: Node) -> tuple[int, ...]:
        """Of a reduction."""
        before = self.tensors[node.attributes["in_tensor_uid"]].dims
        after = self.tensors[node.attributes["out_tensor_uid"]].dims
        return tuple(i for i, dim in enumerate(before) if dim > 1 and after[i] == 1)


def _tensor(attributes: dict[str, Any]) -> Tensor:
    get = attributes.get
    value = get("value")
    if get("is_runtime_pass_by_value") or (not value and get("data_type") not in FLOAT_BITS):
        raise NotTranslated(f"tensor '{get('name')}', {get('data_type')}, which is no float tensor")
    return Tensor(get("uid", 0), get("name", ""), get("data_type", ""), tuple(get("dims", ())),
                  tuple(get("strides", ())), bool(get("virtual")),
                  float(value["value"]) if value else None)


def _node(attributes: dict[str, Any], is_nov2025: bool) -> Node:
    kind = attributes["attributes_type"].removesuffix("Attributes")
    if kind not in RESULTS:
        raise NotTranslated(attributes["attributes_type"])
    node = Node(kind, dict(attributes["attributes"]))
    if is_nov2025 and node.mode.endswith("_BWD"):  # the gradient came second then
        operands = node.attributes
        operands["in_0_tensor_uid"], operands["in_1_tensor_uid"] = (
            operands["in_1_tensor_uid"], operands["in_0_tensor_uid"])
    return node


def read_graph(path: Path) -> Graph:
    """NotTranslated for nodes and tensors of kinds that have no translation. Tensors that no node
    uses are left out: Kiln has no operand for them."""
    document = json.loads(path.read_text(encoding="utf-8"))
    is_nov2025 = any(f"{name}_type" in document for name in ("compute", "intermediate", "io"))
    nodes = [_node(node, is_nov2025) for node in document["nodes"]]
    used = {uid for node in nodes for results in (False, True) for uid in node.uids(results)}
    tensors = [_tensor(tensor) for tensor in document["tensors"] if tensor.get("uid", 0) in used]
    return Graph(document.get("name") or path.stem, {t.uid: t for t in tensors}, nodes)
