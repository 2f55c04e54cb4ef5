"""Graphs of convolutions and their gradients, channels last, as JSON that kiln reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ALIGNMENT_BYTES = 256
CROSS_CORRELATION = 2
DIRECTIONS = {"fwd": "Fwd", "dgrad": "Bwd", "wgrad": "Wrw"}


@dataclass(frozen=True)
class Convolution:
    """A square window over square images. `direction`: fwd, dgrad or wgrad."""

    direction: str = "fwd"
    images: int = 64
    channels: int = 64
    size: int = 56
    filters: int = 64
    window: int = 3
    stride: int = 1
    groups: int = 1
    dtype: str = "HALF"

    @property
    def name(self) -> str:
        groups = f"-g{self.groups}" if self.groups != 1 else ""
        return (f"{self.direction}-{self.images}x{self.channels}x{self.size}-{self.filters}-"
                f"w{self.window}s{self.stride}{groups}")

    @property
    def out(self) -> int:
        return (self.size + self.window // 2 * 2 - self.window) // self.stride + 1

    @property
    def operations(self) -> int:
        return (2 * self.images * self.out * self.out * self.filters * self.channels
                // self.groups * self.window * self.window)

    def product(self) -> tuple[int, int, int]:
        """m, n, k of the matrix product of as many operations."""
        pixels, taps = self.images * self.out * self.out, self.window * self.window
        if self.direction == "fwd":
            return pixels, self.filters, self.channels // self.groups * taps
        if self.direction == "wgrad":
            return self.filters, self.channels // self.groups * taps, pixels
        phases = self.stride * self.stride
        return (pixels * phases, self.channels,
                max(1, self.filters // self.groups * taps // phases))

    def graph(self) -> dict[str, Any]:
        dims = {"x": (self.images, self.channels, self.size, self.size),
                "w": (self.filters, self.channels // self.groups, self.window, self.window),
                "y": (self.images, self.filters, self.out, self.out)}
        operands = {"fwd": ("x", "w", "y"), "dgrad": ("dy", "w", "dx"),
                    "wgrad": ("x", "dy", "dw")}[self.direction]
        tensors = []
        for uid, name in enumerate(operands, 1):
            n, c, h, w = dims[name[-1]]
            tensors.append({"uid": uid, "name": name, "data_type": self.dtype, "dims": [n, c, h, w],
                            "strides": [c * h * w, 1, w * c, c], "alignment": ALIGNMENT_BYTES})
        attributes: dict[str, Any] = {f"{name}_tensor_uid": uid
                                      for uid, name in enumerate(operands, 1)}
        pad = [self.window // 2] * 2
        attributes |= {"pre_padding": pad, "post_padding": pad, "stride": [self.stride] * 2,
                       "dilation": [1, 1], "conv_mode": CROSS_CORRELATION}
        kind = f"Convolution{DIRECTIONS[self.direction]}Attributes"
        return {"name": self.name, "compute_data_type": "FLOAT", "intermediate_data_type": "FLOAT",
                "io_data_type": self.dtype, "tensors": tensors,
                "nodes": [{"name": "conv", "compute_data_type": "FLOAT", "attributes_type": kind,
                           "attributes": attributes}]}

    def save(self, directory: Path) -> Path:
        path = directory / f"{self.name}.json"
        path.write_text(json.dumps(self.graph()))
        return path
