"""Graphs of attention and its gradients, as JSON that kiln reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALIGNMENT_BYTES = 256
WIRE_TYPES = {"f16": "HALF", "bf16": "BFLOAT16", "f32": "FLOAT"}


@dataclass(frozen=True)
class Attention:
    """Heads of `size` elements, packed; `kind` is forward, decode (one query) or backward."""

    kind: str = "forward"
    size: int = 128
    is_causal: bool = False
    dtype: str = "f16"
    batch: int = 4
    heads: int = 32
    kv_heads: int = 32
    queries: int = 2048
    keys: int = 2048

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.dtype}-d{self.size}" + ("-causal" if self.is_causal else "")

    @property
    def products(self) -> int:
        """Multiply-adds for each score and element of a head."""
        return 5 if self.kind == "backward" else 2

    @property
    def multiply_adds(self) -> float:
        all_scores = self.batch * self.heads * self.queries * self.keys
        return all_scores * self.size * self.products * (0.5 if self.is_causal else 1)

    def graph(self) -> dict[str, Any]:
        tensors: list[dict[str, Any]] = []

        def tensor(dims: list[int], dtype: str = WIRE_TYPES[self.dtype]) -> int:
            strides = [1] * len(dims)
            for axis in range(len(dims) - 1, 0, -1):
                strides[axis - 1] = strides[axis] * dims[axis]
            tensors.append({"uid": len(tensors) + 1, "name": f"t{len(tensors) + 1}",
                            "data_type": dtype, "dims": dims, "strides": strides,
                            "alignment": ALIGNMENT_BYTES})
            return len(tensors)

        of_queries = [self.batch, self.heads, self.queries, self.size]
        of_keys = [self.batch, self.kv_heads, self.keys, self.size]
        attributes: dict[str, Any] = {"causal_mask": self.is_causal}
        for operand, dims in (("q", of_queries), ("k", of_keys), ("v", of_keys), ("o", of_queries)):
            attributes[f"{operand}_tensor_uid"] = tensor(dims)
        if self.kind == "backward":
            attributes["do_tensor_uid"] = tensor(of_queries)
            attributes["stats_tensor_uid"] = tensor([*of_queries[:3], 1], "FLOAT")
            for operand, dims in (("dq", of_queries), ("dk", of_keys), ("dv", of_keys)):
                attributes[f"{operand}_tensor_uid"] = tensor(dims)
        kind = "SdpaBackwardAttributes" if self.kind == "backward" else "SdpaAttributes"
        return {"name": self.name, "compute_data_type": "FLOAT",
                "intermediate_data_type": "FLOAT", "io_data_type": WIRE_TYPES[self.dtype],
                "tensors": tensors,
                "nodes": [{"name": "attention", "compute_data_type": "FLOAT",
                           "attributes_type": kind, "attributes": attributes}]}

    def save(self, directory: Path) -> Path:
        path = directory / f"{self.name}.json"
        path.write_text(json.dumps(self.graph()))
        return path
