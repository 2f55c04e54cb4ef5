"""Graphs of matrix products, as JSON that kiln reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIRE_TYPES = {"f16": "HALF", "bf16": "BFLOAT16", "f32": "FLOAT", "f64": "DOUBLE", "i8": "INT8",
              "i32": "INT32", "fp8": "FP8_E4M3", "bf8": "FP8_E5M2", "fp8fnuz": "FP8_E4M3_FNUZ"}
RESULT_TYPES = {"i8": "i32", "fp8": "f16", "bf8": "f16", "fp8fnuz": "f16"}
ALIGNMENT_BYTES = 256


@dataclass(frozen=True)
class Product:
    """c = a b of sizes m, n, k, c row-major. `layout`, a letter for each operand: a's memory runs along k (t) or m
    (n), b's along k (n) or n (t). "tn" is a linear layer's, "tt" that of two row-major matrices."""

    dtype: str = "f16"
    layout: str = "tn"
    m: int = 4096
    n: int = 4096
    k: int = 4096
    epilogue: str = ""  # or "bias_gelu"
    prologue: str = ""  # or "dequantise": b is int8 times a scale for each column

    @property
    def name(self) -> str:
        sizes = f"{self.m}" if self.m == self.n == self.k else f"{self.m}x{self.n}x{self.k}"
        return "-".join(filter(None, (self.dtype, self.layout, sizes, self.prologue, self.epilogue)))

    def graph(self) -> dict[str, Any]:
        result = WIRE_TYPES[RESULT_TYPES.get(self.dtype, self.dtype)]
        compute = {"f64": "DOUBLE", "i8": "INT32"}.get(self.dtype, "FLOAT")
        tensors: list[dict[str, Any]] = []
        nodes: list[dict[str, Any]] = []

        def tensor(dtype: str, rows: int, columns: int, along_columns: bool = True,
                   virtual: bool = False) -> int:
            strides = [columns, 1] if along_columns else [1, rows]
            entry = {"uid": len(tensors) + 1, "name": f"t{len(tensors) + 1}", "data_type": dtype,
                     "dims": [rows, columns], "strides": strides, "alignment": ALIGNMENT_BYTES}
            if virtual:
                entry["virtual"] = True
            tensors.append(entry)
            return len(tensors)

        def node(kind: str, **attributes: Any) -> None:
            nodes.append({"name": f"n{len(nodes)}", "compute_data_type": compute,
                          "attributes_type": f"{kind}Attributes", "attributes": attributes})

        a = tensor(WIRE_TYPES[self.dtype], self.m, self.k, self.layout[0] == "t")
        b_type = "INT8" if self.prologue else WIRE_TYPES[self.dtype]
        b = tensor(b_type, self.k, self.n, self.layout[1] == "t")
        if self.prologue:
            scale = tensor("FLOAT", 1, self.n)
            scaled = tensor(WIRE_TYPES[self.dtype], self.k, self.n, self.layout[1] == "t", True)
            node("Pointwise", operation="MUL", in_0_tensor_uid=b, in_1_tensor_uid=scale,
                 out_0_tensor_uid=scaled)
            b = scaled
        c = tensor("FLOAT" if self.epilogue else result, self.m, self.n,
                   virtual=bool(self.epilogue))
        node("Matmul", a_tensor_uid=a, b_tensor_uid=b, c_tensor_uid=c)
        if self.epilogue:
            bias = tensor(result, 1, self.n)
            shifted = tensor("FLOAT", self.m, self.n, virtual=True)
            node("Pointwise", operation="ADD", in_0_tensor_uid=c, in_1_tensor_uid=bias,
                 out_0_tensor_uid=shifted)
            out = tensor(result, self.m, self.n)
            node("Pointwise", operation="GELU_APPROX_TANH_FWD", in_0_tensor_uid=shifted,
                 out_0_tensor_uid=out)
        return {"name": self.name, "compute_data_type": compute,
                "intermediate_data_type": "FLOAT", "io_data_type": result,
                "tensors": tensors, "nodes": nodes}

    def save(self, directory: Path) -> Path:
        path = directory / f"{self.name}.json"
        path.write_text(json.dumps(self.graph()))
        return path
