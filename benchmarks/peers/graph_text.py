"""Writes graphs as JSON, in the current layout of hipDNN."""

from __future__ import annotations

import json
from typing import Any


class GraphText:
    """The JSON of a graph, tensor by tensor."""

    def __init__(self, dtype: str, name: str = "product") -> None:
        self.dtype = dtype
        self.name = name
        self.tensors: list[dict[str, Any]] = []
        self.nodes: list[dict[str, Any]] = []

    def tensor(self, dims: list[int], strides: list[int], virtual: bool = False) -> int:
        uid = len(self.tensors) + 1
        self.tensors.append({"uid": uid, "name": f"t{uid}", "dims": dims, "strides": strides,
                             "data_type": "FLOAT" if virtual else self.dtype, "virtual": virtual})
        return uid

    def node(self, kind: str, **attributes: Any) -> None:
        self.nodes.append({"name": f"n{len(self.nodes)}", "compute_data_type": "FLOAT",
                           "attributes_type": kind, "attributes": attributes})

    def pointwise(self, operation: str, out: int, *inputs: int) -> None:
        operands = {f"in_{i}_tensor_uid": uid for i, uid in enumerate(inputs)}
        self.node("PointwiseAttributes", operation=operation, out_0_tensor_uid=out, **operands)

    def text(self) -> str:
        return json.dumps({"name": self.name, "compute_data_type": "FLOAT",
                           "intermediate_data_type": "FLOAT", "io_data_type": self.dtype,
                           "tensors": self.tensors, "nodes": self.nodes})
