#!/usr/bin/env python3
"""Launches a matmul that triton_matmul.py compiled on the emulator, once. Needs numpy and the emulator's amdrun.

usage: launch_triton.py EMULATOR CODE.hsaco M N K

The emulator's options are in the environment; buffers are not initialised.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

PAGE = 4096


def buffer(elements: int, dtype: type) -> np.ndarray:
    size = np.dtype(dtype).itemsize
    whole = np.zeros(elements + 2 * PAGE // size, dtype)
    start = -whole.ctypes.data % PAGE // size
    return whole[start:start + elements]


def main() -> None:
    emulator, code = sys.argv[1], Path(sys.argv[2])
    m, n, k = map(int, sys.argv[3:6])
    sys.path.insert(0, emulator)
    from amdrun import Module, option  # pylint: disable=import-error,import-outside-toplevel
    import os
    for name, value in os.environ.items():
        if name.startswith("EMU_TIMING"):
            option(name.removeprefix("EMU_"), value)
    facts = json.loads(code.with_suffix(".json").read_text())
    element = np.uint8 if facts["dtype"] == "fp8" else np.float16
    given = [buffer(m * k, element), buffer(k * n, element), buffer(m * n, np.float16), buffer(n, np.float32),
             np.int32(m), np.int32(n), np.int32(k)]
    module = Module(str(code))
    symbol = module.kernels()[0]
    taken = [argument for argument in module.args(symbol) if not argument[2].startswith("hidden_")]
    given += [None] * (len(taken) - len(given))  # scratch that the kernel does not use
    tile_m, tile_n, _ = facts["tile"]
    module.run(symbol, (-(-m // tile_m) * -(-n // tile_n),), (facts["work_items"],), given,
               facts["lds_bytes"])


if __name__ == "__main__":
    main()
